"""The effects of each policy for serving a queue on jobs that hold units and wait, in a simulation
with the pool's own rules.

    python -m benchmarks.allocation.simulation [--seeds 100]

Twenty jobs at a time, each asking three times for a part of its claim in four classes and holding
all of it until it ends. `ratio` is the capacity over what twenty average jobs claim together. A run
is stuck when all jobs wait.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from statistics import mean

from allocation.rules import banker, fairness
from allocation.rules.banker import BankVerdict, State, Vector
from benchmarks.report import Table, options

CLASSES, AT_ONCE, PARTS, LIMIT, LARGEST = 4, 20, 3, 10, 10


@dataclass
class Job:
    """A job and its state.

    `asked_at` is the time when its current request arrived, and `bypassed` how often that request
    was bypassed.
    """

    claim: Vector
    parts: list[Vector]
    durations: list[float]
    held: Vector = (0,) * CLASSES
    asked_at: float = 0.0
    bypassed: int = 0

    @property
    def wanted(self) -> Vector:
        return self.parts[0]


@dataclass(frozen=True)
class Load:
    """A set of jobs to be drawn: the scarcity of units, the number of jobs, and the number of jobs
    that are three times larger.
    """

    ratio: float
    jobs: int = 100
    big: float = 0.0

    def draw(self, random: Random) -> tuple[Vector, list[Job]]:
        """The capacity and the jobs."""
        jobs = [_job(random, 3 if random.random() < self.big else 1) for _ in range(self.jobs)]
        average = AT_ONCE * (LARGEST + 1) / 2 * (1 + 2 * self.big)
        return (round(self.ratio * average),) * CLASSES, jobs


def _job(random: Random, size: int) -> Job:
    claim = tuple(size * random.randint(1, LARGEST) for _ in range(CLASSES))
    cuts = [sorted(random.randint(0, units) for _ in range(PARTS - 1)) for units in claim]
    edges = [(0, *cut, units) for cut, units in zip(cuts, claim, strict=True)]
    parts = [tuple(edge[k + 1] - edge[k] for edge in edges) for k in range(PARTS)]
    return Job(claim, parts, [random.uniform(0.5, 1.5) for _ in range(PARTS)])


@dataclass
class Run:
    """The outcome of one simulated run."""

    stuck: int = 0
    makespan: float = 0.0
    waits: list[float] = field(default_factory=list)
    most_bypassed: int = 0


#: returns whether a job may be granted free and safe units, given the first job that waits ahead of
#: it
MayPass = Callable[["Simulation", Job, Job | None], bool]


def exempt(simulation: Simulation, job: Job, first: Job | None) -> bool:
    """The rule of the pool: holders are exempt from turns."""
    asker = fairness.QueuedRequest(job.wanted, any(job.held))
    return (
        fairness.turn_refusal(
            simulation.rules, asker, simulation.available, passed=first.bypassed if first else None
        )
        is None
    )


#: the policies for serving the queue, and whether the banker decides. Strict FIFO and freeze are
#: controls that must deadlock
POLICIES: dict[str, tuple[bool, MayPass]] = {
    "naive": (False, lambda simulation, job, first: True),
    "greedy": (True, lambda simulation, job, first: True),
    "strict FIFO": (True, lambda simulation, job, first: first is None),
    "freeze": (True, lambda simulation, job, first: first is None or first.bypassed < LIMIT),
    "holders exempt": (True, exempt),
}


class Simulation:
    """One run: events in the order of time, and a queue that is served as the pool serves its
    own.
    """

    def __init__(self, policy: str, load: Load, seed: int) -> None:
        self.is_checked, self.may_pass = POLICIES[policy]
        # the same seed gives the same run
        self.available, self.coming = load.draw(Random(seed))  # noqa: S311
        self.rules = fairness.TurnRules(LIMIT, self.available, (0,) * CLASSES)
        self.holders: list[Job] = []
        self.waiting: list[Job] = []
        self.events: list[tuple[float, int, Job]] = []
        self.now, self.count, self.result = 0.0, 0, Run()

    def run(self) -> Run:
        """Let all jobs arrive, make requests and end, or get stuck."""
        for _ in range(min(AT_ONCE, len(self.coming))):
            self._do_later(0.0, self.coming.pop())
        while self.events:
            self.now, _, job = heapq.heappop(self.events)
            if job.parts:
                self._request_units(job)
            else:
                self._end(job)
        self.result.makespan, self.result.stuck = self.now, len(self.waiting)
        return self.result

    def _do_later(self, delay: float, job: Job) -> None:
        self.count += 1
        heapq.heappush(self.events, (self.now + delay, self.count, job))

    def _request_units(self, job: Job) -> None:
        job.asked_at, job.bypassed = self.now, 0
        if self._is_granted(job, self.waiting[0] if self.waiting else None):
            self._grant(job, self.waiting)
        else:
            self.waiting.append(job)

    def _end(self, job: Job) -> None:
        self.available = banker.plus(self.available, job.held)
        self.holders = [holder for holder in self.holders if holder is not job]
        if self.coming:
            self._do_later(0.0, self.coming.pop())
        still: list[Job] = []
        for waiter in self.waiting:
            if self._is_granted(waiter, still[0] if still else None):
                self._grant(waiter, still)
            else:
                still.append(waiter)
        self.waiting = still

    def _is_granted(self, job: Job, first: Job | None) -> bool:
        if not banker.fits(job.wanted, self.available) or not self.may_pass(self, job, first):
            return False
        if not self.is_checked:
            return True
        rows = self.holders if any(job.held) else [*self.holders, job]
        state = State(
            self.available, tuple(row.claim for row in rows), tuple(row.held for row in rows)
        )
        row = next(i for i, each in enumerate(rows) if each is job)
        return banker.decide(state, row, job.wanted) is BankVerdict.GRANT

    def _grant(self, job: Job, passed: list[Job]) -> None:
        self.available = banker.minus(self.available, job.wanted)
        if not any(job.held) and any(job.wanted):
            self.holders.append(job)
        job.held = banker.plus(job.held, job.parts.pop(0))
        for waiter in passed:
            waiter.bypassed += 1
        self.result.waits.append(self.now - job.asked_at)
        self.result.most_bypassed = max(self.result.most_bypassed, job.bypassed)
        self._do_later(job.durations.pop(), job)


def runs(policy: str, load: Load, seeds: int) -> list[Run]:
    """The outcomes for a number of seeds."""
    return [Simulation(policy, load, seed).run() for seed in range(seeds)]


def main() -> None:
    seeds = options(__doc__, seeds=100).seeds
    loads = {f"{ratio:.2f}": Load(ratio) for ratio in (0.60, 0.54, 0.52, 0.45, 0.35)} | {
        "0.50, big jobs": Load(0.50, 300, 0.05)
    }
    table = Table(
        "stuck runs", "makespan", "max bypass", "max wait", f"policy, load; {seeds} seeds"
    )
    for name, load in loads.items():
        for policy in POLICIES:
            done = runs(policy, load, seeds)
            free = [run for run in done if not run.stuck]
            table.row(len(done) - len(free), *_figures(free), f"{policy}, {name}")


def _figures(free: list[Run]) -> tuple[object, object, object]:
    """The means over the runs that did not get stuck, if any."""
    if not free:
        return "-", "-", "-"
    span, wait = mean(run.makespan for run in free), max(max(run.waits) for run in free)
    return span, max(run.most_bypassed for run in free), wait


if __name__ == "__main__":
    main()
