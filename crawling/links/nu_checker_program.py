"""Becomes the Nu HTML checker within limits. `crawling.links.nu_checker_run` starts this module:
the limits and the parent's death reach the Java virtual machine, since it is the same process.

Its arguments are the seconds of the processor that it may take, the parent's number, and the
command.
"""

from __future__ import annotations

import os
import resource
import sys

from crawling.process.orphans import stop_with_parent
from crawling.process.priority import NICENESS


def main(cpu_seconds: str, parent: str, *command: str) -> None:
    stop_with_parent()
    if os.getppid() != int(parent):
        sys.exit("The job is gone.")
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds), int(cpu_seconds)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # our own command; documents are files in it
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main(*sys.argv[1:])
