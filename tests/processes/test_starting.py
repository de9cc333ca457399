"""The tests of a run are dealt so that none is lost and the long ones stand apart."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.processes.starting import dealt

LONG = ("webs/", "races/")


def items(**counts):
    return [
        SimpleNamespace(path=Path(folder), nodeid=f"tests/{folder}/test_it.py::test_{number}")
        for folder, count in counts.items()
        for number in range(count)
    ]


@pytest.mark.parametrize("processes", [1, 2, 4, 6])
def test_every_test_is_dealt_once_and_each_second_block_begins_with_long_ones(processes):
    given = items(short=500, webs=30, races=20, others=70)

    order = dealt(given, LONG, processes)

    assert sorted(map(id, order)) == sorted(map(id, given))
    parts = min(2, max(1, processes // 2))  # whole folders: there are two
    begins = [len(order) * part // max(1, processes // 2) for part in range(parts)]
    assert all(order[begin].nodeid.removeprefix("tests/").startswith(LONG) for begin in begins)


def test_more_long_ones_than_fill_a_block_stand_before_all_short_ones():
    given = items(short=20, webs=30, races=5)

    assert dealt(given, LONG, 4) == given[20:] + given[:20]
