"""`python -m crawlsite.services exec COMMAND...` runs a command beside the embedded servers.

The command gets their addresses in DATABASE_URL, REDIS_URL and STATE_DIR; variables that are
already set stay as they are.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from argparse import REMAINDER, ArgumentParser, Namespace
from pathlib import Path

from crawlsite import env
from crawlsite.private_files import keep_private
from crawlsite.services.child import die_with_parent
from crawlsite.services.embedded_servers import EmbeddedServers
from crawlsite.services.stops import StartError, StopRequested, StopSignals


def main(arguments: list[str] | None = None) -> int:
    """Return the command's exit status; as in a shell, 128 + n if signal n ended it."""
    options = _parse(arguments)
    keep_private()
    state_dir: Path = options.state_dir.expanduser().resolve()
    pair = EmbeddedServers(
        state_dir, wanted=env.embedded_server_names(), loose=options.fast_and_loose
    )
    with StopSignals() as signals:
        try:
            pair.start(signals.pause, join=True)
            return _run(options.command, {**pair.addresses, "STATE_DIR": str(state_dir)}, signals)
        except StopRequested:
            return 128 + signals.received[0]
        except StartError as error:
            print(f"crawlsite: {error}", file=sys.stderr)
            return 1
        finally:
            pair.stop()


def _parse(arguments: list[str] | None) -> Namespace:
    parser = ArgumentParser(prog="python -m crawlsite.services", description=__doc__)
    parser.add_argument(
        "--state-dir",
        type=Path,
        default=env.BASE_DIR / ".local",
        help="where data, sockets and logs live",
    )
    parser.add_argument(
        "--fast-and-loose",
        action="store_true",
        help="never wait for the disk; for tests: a power cut spoils the data",
    )
    parser.add_argument("exec", choices=["exec"])
    parser.add_argument("command", nargs=REMAINDER, help="the command and its arguments")
    options = parser.parse_args(arguments)
    if not options.command:
        parser.error("exec needs a command")
    return options


def _run(command: list[str], addresses: dict[str, str], signals: StopSignals) -> int:
    """Run the command in the foreground: Ctrl-C in the terminal reaches the command by itself, the
    other signals are handed on.
    """
    try:
        # the caller's
        process = subprocess.Popen(  # noqa: S603
            command,
            env=env.child_environment(addresses),
            preexec_fn=die_with_parent(signal.SIGTERM),
        )
    except OSError as error:
        print(f"crawlsite: {command[0]}: {error.strerror}", file=sys.stderr)
        return 127
    while process.poll() is None:
        while signals.received:
            if (number := signals.received.pop(0)) != signal.SIGINT:
                process.send_signal(number)
        # the handler only notes a signal, so the note is polled, faster than users notice
        time.sleep(0.02)
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


if __name__ == "__main__":
    sys.exit(main())
