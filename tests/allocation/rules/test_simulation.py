"""AC6: no process starves and none hangs under the bank's rules, in the benchmark's simulation;
strict turns do hang.
"""

from __future__ import annotations

import pytest

from benchmarks.allocation.simulation import AT_ONCE, LIMIT, Load, runs

pytestmark = pytest.mark.slow

#: ten runs for every push; all of them in the drill
SEEDS = [10, pytest.param(100, marks=pytest.mark.drill)]
BIG_JOBS = Load(0.50, jobs=300, big=0.05)


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize(
    "load", [Load(0.60), Load(0.45), Load(0.35), BIG_JOBS], ids=["0.60", "0.45", "0.35", "big jobs"]
)
def test_no_run_is_ever_stuck_when_holders_are_exempt_from_turns(load, seeds):
    assert sum(run.stuck for run in runs("holders exempt", load, seeds)) == 0


@pytest.mark.parametrize("seeds", SEEDS)
def test_strict_turns_and_a_freeze_of_everybody_hang(seeds):
    """The negative controls: without them a rule that never matters would pass."""
    assert sum(run.stuck > 0 for run in runs("strict FIFO", Load(0.60), seeds)) >= seeds / 2
    assert sum(run.stuck > 0 for run in runs("freeze", Load(0.45), seeds)) >= seeds / 2
    assert sum(run.stuck > 0 for run in runs("naive", Load(0.45), seeds)) >= seeds / 2


@pytest.mark.parametrize("seeds", SEEDS)
def test_bypass_limit_bounds_the_wait_of_big_jobs(seeds):
    """Only those that held something at the limit still pass: each of at most AT_ONCE, for the
    parts it has yet to ask.
    """
    limited, greedy = runs("holders exempt", BIG_JOBS, seeds), runs("greedy", BIG_JOBS, seeds)

    assert max(run.most_bypassed for run in limited) <= LIMIT + 2 * AT_ONCE
    assert max(max(run.waits) for run in limited) <= 60
    assert max(max(run.waits) for run in greedy) > 60


def test_equal_seeds_give_equal_runs():
    assert runs("holders exempt", Load(0.45), 2) == runs("holders exempt", Load(0.45), 2)
