"""`python -m tests.crawlsite.supervisor.orphaned PLACE`: a process with two children, one that ends
in order at SIGTERM and one that ignores it.
"""

import os
import signal
import sys
import time
from pathlib import Path

place = Path(sys.argv[1])


def end(number, frame):
    time.sleep(0.5)
    (place / "in order").touch()
    os._exit(0)


if (orphan := os.fork()) == 0:
    signal.signal(signal.SIGTERM, end)
    while True:
        signal.pause()
if (deaf := os.fork()) == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()
time.sleep(0.5)  # they are ready by then; otherwise the test shows nothing
(place / "new").write_text(f"{os.getpid()} {orphan} {deaf}")
(place / "new").rename(place / "left")
while True:
    signal.pause()
