"""The workload of an experiment follows from its seed, and can be served."""

from __future__ import annotations

import pytest

from crawling.experiments.workload import make_workload


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
