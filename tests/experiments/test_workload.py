"""The workload of an experiment follows from its seed, and can be served."""

from __future__ import annotations

from collections import Counter

import pytest

from experiments.workload import LEAST_ROUND, MOST_ROUND, make_workload, rounds_by_turns


def test_the_same_seed_makes_the_same_workload_and_another_one_another():
    assert make_workload(requests=20, seed=3) == make_workload(requests=20, seed=3)
    assert make_workload(requests=20, seed=3) != make_workload(requests=20, seed=4)


@pytest.mark.parametrize("seed", range(20))
def test_every_claim_fits_the_capacity_and_is_the_sum_of_its_steps(seed):
    workload = make_workload(requests=30, seed=seed)

    for job in workload.jobs:
        assert all(
            units <= there for units, there in zip(job.claim, workload.capacity, strict=True)
        )
        assert job.claim == tuple(map(sum, zip(*(step.amounts for step in job.steps), strict=True)))
        assert job.at_once().steps[0].amounts == job.claim


@pytest.mark.parametrize("jobs", [1, 4, 5, 8, 100, 101, 500])
def test_policies_take_turns_at_the_same_requests_in_opposite_orders(jobs):
    turns = list(rounds_by_turns(range(jobs), ["a", "b"]))

    order = [policy for _, policy, _ in turns]
    assert order == (["a", "b", "b", "a"] * len(turns))[: len(turns)]
    assert len(turns) >= 4 or jobs <= LEAST_ROUND
    assert max(len(part) for _, _, part in turns) <= MOST_ROUND
    for policy in "ab":
        assert [job for _, one, part in turns if one == policy for job in part] == list(range(jobs))
    assert set(Counter(number for number, _, _ in turns).values()) == {2}
