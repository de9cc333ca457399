"""The pages and units that the requests of an experiment will ask for.

Pure: the same seed gives the same workload for every policy.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from allocation.rules.banker import Vector, plus

#: the resource classes of an experiment: key, unit and what one unit stands for; its requests share
#: them by agreement, no class is enforced
CLASSES = (
    ("fetch_slots", "slots", "Stands for fetches under way; an experiment only counts it."),
    ("memory", "blocks of 16 MiB", "Stands for documents in hand; an experiment only counts it."),
    ("dns_slots", "look-ups", "Stands for names being looked up; an experiment only counts it."),
    ("archive_writers", "files", "Stands for open archive files; an experiment only counts it."),
)
#: requests at work at the same time: each is a thread with a database connection of its own
AT_A_TIME = 20
#: The capacity as a fraction of the sum of AT_A_TIME mean claims. Simulated over 20 seeds, plain
#: requests are over a bound of eight seconds in 26 % of the cases at 0.50, in 30 % at 0.49 and in
#: 35 % at 0.48; SEEDS P5 has 30 %. Real threads lock each other less often than simulated ones, and
#: the less, the busier the machine is.
SCARCITY = 0.48
LARGEST_CLAIM = 10
STEPS = 3
PAGES_PER_STEP = (1, 2)
#: the number of pages of the experiment's web; page n is the same, and takes the same time, every
#: time
PAGES = 97
#: requests of a round, see `rounds_by_turns`: with fewer, requests would hardly wait for each
#: other, and with more, the policies would take turns too rarely
LEAST_ROUND, MOST_ROUND = 4, 50

J = TypeVar("J")


@dataclass(frozen=True)
class WorkloadStep:
    amounts: Vector
    pages: tuple[int, ...]


@dataclass(frozen=True)
class WorkloadJob:
    """One request of the paper: a claim, taken piece by piece."""

    number: int
    claim: Vector
    steps: tuple[WorkloadStep, ...]

    @property
    def label(self) -> str:
        return f"Request{self.number}"

    def at_once(self) -> WorkloadJob:
        """The same work with the whole claim requested in the first step, so that no request waits
        while it holds units.
        """
        pages = tuple(page for step in self.steps for page in step.pages)
        return WorkloadJob(self.number, self.claim, (WorkloadStep(self.claim, pages),))


@dataclass(frozen=True)
class Workload:
    """The jobs in the order in which they arrive, and the units that they share."""

    capacity: Vector
    jobs: tuple[WorkloadJob, ...]
    at_a_time: int


def make_workload(*, requests: int, seed: int) -> Workload:
    """Draw a workload.

    In rounds of fewer requests than AT_A_TIME all are at work at once, and share a capacity that is
    smaller in proportion.
    """
    draw = random.Random(seed)  # noqa: S311 - repeatable on purpose
    jobs = tuple(_random_job(draw, number) for number in range(1, requests + 1))
    at_a_time = min(AT_A_TIME, requests, _round_size(requests))
    return Workload(_pool_capacity(jobs, at_a_time), jobs, at_a_time)


def rounds_by_turns(
    jobs: Sequence[J], policies: Sequence[str]
) -> Iterator[tuple[int, str, Sequence[J]]]:
    """Let the policies take turns: for each turn its round, from 1 on, its policy and its jobs.

    Each policy gets the same jobs in each round. The order of the policies is reversed from round
    to round, so that a machine that becomes slower or faster meanwhile does not favour one of two.
    """
    size = _round_size(len(jobs))
    for number, first in enumerate(range(0, len(jobs), size), 1):
        for policy in policies if number % 2 else reversed(policies):
            yield number, policy, jobs[first : first + size]


def _round_size(jobs: int) -> int:
    """The size of a round: two rounds for few jobs and more for many; one round for very few."""
    return min(MOST_ROUND, max(LEAST_ROUND, math.ceil(jobs / 2)))


def _random_job(draw: random.Random, number: int) -> WorkloadJob:
    parts = [_split_units(draw, draw.randint(1, LARGEST_CLAIM)) for _ in CLASSES]
    amounts = [vector for vector in zip(*parts, strict=True) if any(vector)]
    steps = tuple(
        WorkloadStep(
            vector, tuple(draw.randrange(PAGES) for _ in range(draw.randint(*PAGES_PER_STEP)))
        )
        for vector in amounts
    )
    claim: Vector = (0,) * len(CLASSES)
    for step in steps:
        claim = plus(claim, step.amounts)
    return WorkloadJob(number, claim, steps)


def _split_units(draw: random.Random, units: int) -> list[int]:
    """Share units out over the steps, each unit at random."""
    shares = [0] * STEPS
    for _ in range(units):
        shares[draw.randrange(STEPS)] += 1
    return shares


def _pool_capacity(jobs: tuple[WorkloadJob, ...], at_a_time: int) -> Vector:
    """SCARCITY of the mean demand, but enough for the largest claim alone: a larger claim could
    never be served.
    """
    by_class = list(zip(*(job.claim for job in jobs), strict=True))
    return tuple(
        max(*claims, round(SCARCITY * at_a_time * sum(claims) / len(claims)), 0)
        for claims in by_class
    )
