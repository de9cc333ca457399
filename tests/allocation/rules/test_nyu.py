"""The thirteen traces of NYU's operating systems lab 3, with the times and waits that its own
solution prints (SEEDS P4).

They show both sides: the naive manager must abort tasks to get out of deadlocks, the banker never
does, and it makes some tasks wait that would have been lucky (01, 09, 13).
"""

from __future__ import annotations

import pytest

from tests.allocation.rules.nyu import manage

SHORT = "c4 +1 -1"
LONG = "c4 +1 +3 -4"
TO_AND_FRO = "c4,4 +1a +1b -1a -1b"
TWICE = "c2,2 +1a +1a +1b -2a -1b"
PAIR = "c3 +1 -1 +3 -3"
HALVES = "c3 +1 +1 -2"
SLOW = "c4 @5+1 @5-1 T@5"


def by_task(*tasks: str) -> str:
    return "\n".join(f"{number}: {words}" for number, words in enumerate(tasks, start=1))


#: number -> (units that there are, what the tasks do, naive, banker)
TRACES = {
    "01": ((4,), by_task(SHORT, SHORT), "3/0 3/0", "3/0 5/2"),
    "02": ((4,), by_task(LONG, LONG), "abort 5/1", "4/0 7/3"),
    "03": ((4,), by_task(LONG, LONG, LONG), "abort abort 5/1", "4/0 7/3 10/6"),
    "04": ((4,), by_task("c4 +1 +3 -4 +2 -2", LONG), "abort 5/1", "9/3 7/3"),
    "05": ((4,), by_task(PAIR, HALVES, "c3 +2 +1 -3"), "9/4 5/1 7/3", "9/4 4/0 7/3"),
    "06": (
        (4,),
        by_task(PAIR, HALVES, "c5 +2 +1 -3", "c3 +2 +1 -3"),
        "abort 5/1 abort 9/5",
        "9/4 4/0 abort 7/3",
    ),
    "07": (
        (4,),
        by_task(PAIR, "c3 +1 +1 +2 -2 -2", "c3 +2 +1 -3"),
        "abort abort 7/3",
        "9/4 abort 7/3",
    ),
    "08": ((4,), "2: c4\n1: c4 +1\n2: +1\n1: -1\n2: -1", "3/0 3/0", "3/0 5/2"),
    "09": ((4, 4), by_task(TO_AND_FRO, TO_AND_FRO), "6/0 6/0", "6/0 10/4"),
    "10": ((2, 2), by_task(TWICE, TWICE), "abort 8/1", "7/0 12/5"),
    "11": (
        (4, 4, 4),
        by_task(
            "c4,4,4 +1a -1a +3a +1b -1b -3a",
            "c4,4,4 +4a +1b +1c -4a -1b -1c",
            "c4,4,4 +4a +1c -1c -4a",
        ),
        "17/8 11/2 13/6",
        "19/10 11/2 15/8",
    ),
    "12": ((4,), by_task("c4 +1 @3-1 T@1", "c4 @2+1 @1-1"), "7/0 6/0", "7/0 9/3"),
    "13": ((4,), by_task(SLOW, SLOW), "18/0 18/0", "18/0 25/7"),
}


@pytest.mark.parametrize("trace", TRACES)
def test_the_naive_manager_aborts_what_has_locked_up(trace):
    total, lines, naive, _ = TRACES[trace]

    assert manage(total, lines, is_banker=False) == naive.split()


@pytest.mark.parametrize("trace", TRACES)
def test_the_banker_lets_every_honest_task_finish(trace):
    total, lines, _, banker = TRACES[trace]

    assert manage(total, lines, is_banker=True) == banker.split()


def test_the_naive_manager_loses_nine_tasks_and_the_banker_only_the_two_that_broke_their_claims():
    results = [
        [
            manage(total, lines, is_banker=one).count("abort")
            for total, lines, _, _ in TRACES.values()
        ]
        for one in (False, True)
    ]

    assert [sum(aborted) for aborted in results] == [9, 2]
