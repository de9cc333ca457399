"""A work process has the priority that its worker's session has."""

from __future__ import annotations

import subprocess
import sys

import pytest

from crawling.machine.cpu_affinity import GROUP

#: a worker and its work process; the session's change may be refused while others change theirs
PROGRAM = """
import os, time
from crawling.machine.cpu_affinity import GROUP, SESSION_NICENESS, lower_priority_below_pages
lower_priority_below_pages()
print(os.nice(0), GROUP.read_text().split()[-1], flush=True)
if os.fork():
    os.wait()
else:
    until = time.monotonic() + 20
    while GROUP.read_text().split()[-1] != str(SESSION_NICENESS) and time.monotonic() < until:
        lower_priority_below_pages()
    print(os.nice(0), GROUP.read_text().split()[-1])
"""

#: a worker and its work process, which says the session's niceness until it is the one expected
IDLE = """
import os, time
from crawling.machine.cpu_affinity import GROUP, IDLE_NICENESS
from crawling.machine.cpu_affinity import lower_priority_below_shifts, restore_priority

def reached(niceness, change):
    until = time.monotonic() + 20
    while GROUP.read_text().split()[-1] != str(niceness) and time.monotonic() < until:
        change()
    return GROUP.read_text().split()[-1]

if os.fork():
    os.wait()
else:
    print(reached(IDLE_NICENESS, lower_priority_below_shifts))
    print(reached(0, restore_priority))
"""


@pytest.mark.skipif(not GROUP.exists(), reason="the system shares processors without sessions")
def test_a_work_process_lowers_the_session_of_its_worker_and_no_other():
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        start_new_session=True,
        check=True,
        capture_output=True,
        text=True,
    )

    worker, work_process = (line.split() for line in told.stdout.splitlines())
    assert worker == ["10", "0"]  # its parent is no leader of its session
    assert work_process == ["19", "5"]


@pytest.mark.skipif(not GROUP.exists(), reason="the system shares processors without sessions")
def test_work_behind_shifts_hurries_once_someone_waits_for_its_end():
    told = subprocess.run(
        [sys.executable, "-c", IDLE],
        start_new_session=True,
        check=True,
        capture_output=True,
        text=True,
    )

    assert told.stdout.split() == ["19", "0"]
