"""`python -m crawlsite.supervisor`, or `make run`: starts the product; its first line is the
dashboard's address.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from pathlib import Path

from crawlsite import env
from crawlsite.env import BASE_DIR, BadSetting, Environment
from crawlsite.private_files import keep_private
from crawlsite.services.directories import LockFile
from crawlsite.services.stops import StartError, StopRequested, StopSignals
from crawlsite.supervisor.line import become
from crawlsite.supervisor.procfile import check_free, dashboard_url
from crawlsite.supervisor.stack import Stack, print_line


def main(arguments: list[str] | None = None) -> int:
    """Return 0 after a requested stop, 1 if the product cannot start, 2 if a setting is wrong."""
    parser = ArgumentParser(prog="python -m crawlsite.supervisor", description=__doc__)
    parser.add_argument(
        "--procfile",
        type=Path,
        default=BASE_DIR / "Procfile",
        help="the processes to run on this machine",
    )
    parser.add_argument(
        "--only",
        metavar="NAME",
        help="run this line of it in place of the supervisor, without servers and restarts",
    )
    options = parser.parse_args(arguments)
    keep_private()
    try:
        environment = env.read()
    except BadSetting as error:
        return _print_problem(error, 2)
    environment.state_dir.mkdir(parents=True, exist_ok=True)
    if options.only:
        return _become(options.only, environment, options.procfile)
    lock = LockFile(environment.state_dir / "supervisor.lock")
    if not lock.acquire(f"at {dashboard_url(environment)} (process {os.getpid()})"):
        return _print_problem(
            f"already running {lock.note()}. Stop that one first with Ctrl-C, or give this one "
            "another STATE_DIR and PORT.",
            1,
        )
    try:
        check_free(environment)
    except StartError as error:
        return _print_problem(error, 1)
    print_line(f"Dashboard: {dashboard_url(environment)}")
    if warning := warning_for(os.geteuid()):
        print(f"crawlsite: {warning}", file=sys.stderr, flush=True)
    return _run(environment, options.procfile)


def _become(name: str, environment: Environment, procfile: Path) -> int:
    try:
        become(name, environment, procfile)
    except StartError as error:
        return _print_problem(error, 1)


def warning_for(user: int) -> str:
    """The warning to print before the product starts as this user; "" if there is none. Decision
    50.
    """
    if user != 0:
        return ""
    return (
        "started as root, so workers read what strangers send with all rights of the machine. "
        "Outside of a container, start it as a user of its own: see Who it runs as in "
        "docs/operations.md."
    )


def _run(environment: Environment, procfile: Path) -> int:
    with StopSignals() as signals:
        try:
            stack = Stack(environment, procfile, signals)
        except StartError as error:
            return _print_problem(error, 1)
        try:
            stack.run()
        except StopRequested:
            print_line("stopping")
        except StartError as error:
            return _print_problem(error, 1)
        finally:
            stack.stop()
    print_line("stopped")
    return 0


def _print_problem(problem: object, status: int) -> int:
    print(f"crawlsite: {problem}", file=sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
