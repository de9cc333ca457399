"""Stops its parent's children when the parent has ended, on macOS, whose kernel sends no signal
then.

`python -m crawlsite.services.watchdog NOTES...` reads its standard input, a pipe whose other end
only the parent holds, to the end.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from crawlsite.services.child import stop_left_over


def start_watchdog(notes: Path) -> subprocess.Popen[bytes]:
    """Start a watchdog for the children noted in `notes`; close its stdin after a clean stop."""
    words = [sys.executable, "-m", "crawlsite.services.watchdog", str(notes)]
    quiet = subprocess.DEVNULL
    # ourselves
    return subprocess.Popen(  # noqa: S603
        words, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True
    )


def main() -> None:
    sys.stdin.buffer.read()
    notes = Path(sys.argv[1])
    while stop_left_over(notes):
        time.sleep(0.5)  # signalled processes need a moment to end


if __name__ == "__main__":
    main()
