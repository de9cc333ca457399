"""Shifts of a machine share its cores out among themselves."""

import os
import resource
import subprocess
import sys
import threading

import pytest

from crawling.machine import cpu_affinity
from crawling.machine.cpu_affinity import CORES, SpareCore, allow_all_cores, pin_to_one_core

pytestmark = pytest.mark.skipif(
    len(CORES) < 2, reason="a machine with one core has nothing to share out"
)


@pytest.fixture(autouse=True)
def own_names(monkeypatch):
    """Other tests' shifts take cores meanwhile."""
    monkeypatch.setattr(cpu_affinity, "NAME", f"\0test-{os.getpid()}-core-{{}}")
    monkeypatch.setattr(cpu_affinity, "READING_NAME", f"\0test-{os.getpid()}-reading-{{}}")


def where():
    """The cores that a thread started now may use."""
    found = []
    thread = threading.Thread(target=lambda: found.append(os.sched_getaffinity(0)))
    thread.start()
    thread.join()
    return found[0]


def test_a_shift_and_its_threads_stay_pin_to_one_core_until_its_end():
    with pin_to_one_core() as core:
        assert where() == {core}

    assert where() == set(CORES)


def test_each_has_a_core_of_its_own_and_who_comes_too_late_runs_anywhere():
    holders = [hold(cpu_affinity.NAME) for _ in CORES[1:]]
    try:
        taken = [int(holder.stdout.readline()) for holder in holders]
        with pin_to_one_core() as core, pin_to_one_core() as none:
            assert sorted([core, *taken]) == CORES
            assert none is None
    finally:
        for holder in holders:
            holder.kill()
            holder.communicate()


def test_a_core_is_free_again_when_its_shift_is_killed():
    holders = [hold(cpu_affinity.NAME) for _ in CORES]
    for holder in holders:
        holder.stdout.readline()
    with pin_to_one_core() as core:
        assert core is None
    for holder in holders:
        holder.kill()
        holder.communicate()

    with pin_to_one_core() as core:
        assert core == CORES[0]


def test_what_a_shift_does_fails_as_it_would_anywhere():
    with pytest.raises(OSError, match="of its own"), pin_to_one_core():
        raise OSError("of its own")


def test_a_thread_may_leave_for_a_while():
    with pin_to_one_core() as core:
        with allow_all_cores():
            assert os.sched_getaffinity(0) == set(CORES)
        assert os.sched_getaffinity(0) == {core}


def hold(name):
    """A process that takes a core and says which; it ends when it is killed."""
    program = (
        f"import {cpu_affinity.__name__} as cores; cores.NAME = {name!r}\n"
        "with cores.pin_to_one_core() as core: print(core, flush=True); input()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    )


def test_where_too_many_files_are_open_there_is_no_spare_core():
    spare = SpareCore.take()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
    try:
        assert not spare.is_wanted()
        assert SpareCore.take() is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        spare.give_back()


def test_a_spare_core_is_wanted_once_a_shift_has_it():
    spares = [SpareCore.take() for _ in CORES]
    assert sorted(spare.core for spare in spares) == CORES
    assert SpareCore.take() is None

    with pin_to_one_core() as core:
        assert [spare.core for spare in spares if spare.is_wanted()] == [core]
    for spare in spares:
        spare.give_back()
