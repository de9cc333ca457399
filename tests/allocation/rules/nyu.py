"""The resource managers of NYU's operating systems lab 3: tasks that act once a cycle, under a
naive and under our banker.

A line names a task and what it does next; lines of one task may be spread among others'. `c4`
claims 4 units, `+3` asks for 3, `-4` gives 4 back, each in one cycle; a letter names the class
where there are several (`+1b`), `@2` before an activity makes the task compute for so many cycles
first, and `T@1` before its end. `c4,4` initiates class after class, a cycle each.

In a cycle those that were blocked try again first, in the order in which they became so, then the
others act by number. Units that are given back can be used in the next cycle. If no task could act,
the naive manager aborts the lowest-numbered task, and the next, until a request fits. The banker
aborts a task that claims more than there is or asks for more than it claimed.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from dataclasses import dataclass, field

from allocation.errors import RequestExceedsNeed
from allocation.rules.banker import BankVerdict, State, Vector, decide, fits, minus, plus

ACTIVITY = re.compile(r"(?:@(\d+))?([c+-])([\d,]+)([a-z]?)|T@(\d+)")


@dataclass(frozen=True)
class Activity:
    """An activity, after `delay` cycles of computing: c(laim), +, - or T(erminate), of `units` of
    one class.
    """

    kind: str
    delay: int
    units: int = 0
    ordinal: int = 0


@dataclass
class Task:
    """A task. `time` is the cycle at the end of which it terminated."""

    to_do: deque[Activity]
    claim: Vector
    held: Vector
    computed: int = 0
    waited: int = 0
    time: int | None = None
    aborted: bool = False

    @property
    def is_alive(self) -> bool:
        return self.time is None and not self.aborted


@dataclass
class Manager:
    """The classes, the tasks by number, and the blocked tasks, the longest blocked first."""

    total: Vector
    tasks: dict[int, Task]
    is_banker: bool
    blocked: list[int] = field(default_factory=list)
    cycle: int = 0

    def __post_init__(self) -> None:
        self.available = self.total
        self.returned = self._nothing()

    def run(self) -> list[str]:
        """Run all tasks to their ends; return `time/waiting`, or `abort`, for each task by
        number.
        """
        while any(task.is_alive for task in self.tasks.values()):
            self._one_cycle()
        return [
            "abort" if task.aborted else f"{task.time}/{task.waited}"
            for _, task in sorted(self.tasks.items())
        ]

    def _one_cycle(self) -> None:
        self.cycle += 1
        trying = list(self.blocked)
        others = [
            number
            for number, task in sorted(self.tasks.items())
            if task.is_alive and number not in trying
        ]
        has_progress = False
        for number in trying + others:
            has_progress |= self._act(number)
        if not has_progress:
            self._break_deadlock()
        self.available, self.returned = plus(self.available, self.returned), self._nothing()

    def _act(self, number: int) -> bool:
        """Let a task do its next activity, or a part of its computing; False if it is blocked."""
        task = self.tasks[number]
        activity = task.to_do[0]
        if task.computed < activity.delay:
            task.computed += 1
            if activity.kind == "T" and task.computed == activity.delay:
                task.time = self.cycle
            return True
        units = self._vector(activity)
        if activity.kind == "c":
            task.claim = plus(task.claim, units)
            if self.is_banker and not fits(task.claim, self.total):
                self._abort(number)
                return True
        elif activity.kind == "-":
            task.held, self.returned = minus(task.held, units), plus(self.returned, units)
        elif not self._serve(number, units):
            return task.aborted
        if not task.aborted:
            self._move_on(task)
        return True

    def _serve(self, number: int, units: Vector) -> bool:
        """Grant a request, or block its task."""
        task = self.tasks[number]
        try:
            is_granted = self._may_have(number, units)
        except RequestExceedsNeed:
            self._abort(number)
            return False
        if is_granted:
            self.available, task.held = minus(self.available, units), plus(task.held, units)
            self.blocked = [other for other in self.blocked if other != number]
            return True
        task.waited += 1
        if number not in self.blocked:
            self.blocked.append(number)
        return False

    def _may_have(self, number: int, units: Vector) -> bool:
        if not self.is_banker:
            return fits(units, self.available)
        alive = [other for other, task in self.tasks.items() if task.is_alive]
        rows = [self.tasks[other] for other in alive]
        state = State(
            self.available, tuple(task.claim for task in rows), tuple(task.held for task in rows)
        )
        # Units that were released in this cycle are not usable yet, so the state before the request
        # need not look safe.
        return decide(state, alive.index(number), units, state_is_safe=False) is BankVerdict.GRANT

    def _move_on(self, task: Task) -> None:
        task.to_do.popleft()
        task.computed = 0
        if task.to_do[0] == Activity("T", 0):
            task.time = self.cycle

    def _abort(self, number: int) -> None:
        task = self.tasks[number]
        task.aborted, self.returned, task.held = (
            True,
            plus(self.returned, task.held),
            self._nothing(),
        )
        self.blocked = [other for other in self.blocked if other != number]

    def _break_deadlock(self) -> None:
        while self.blocked and not any(
            fits(self._vector(self.tasks[n].to_do[0]), plus(self.available, self.returned))
            for n in self.blocked
        ):
            self._abort(min(self.blocked))

    def _vector(self, activity: Activity) -> Vector:
        return tuple(activity.units if j == activity.ordinal else 0 for j in range(len(self.total)))

    def _nothing(self) -> Vector:
        return (0,) * len(self.total)


def manage(total: Vector, lines: str, *, is_banker: bool) -> list[str]:
    """Run a trace of the lab, whose lines are explained in the module's text."""
    to_do: defaultdict[int, deque[Activity]] = defaultdict(deque)
    for line in lines.strip().splitlines():
        number, _, words = line.partition(":")
        for word in words.split():
            to_do[int(number)].extend(_activities(word))
    for activities in to_do.values():
        if activities[-1].kind != "T":
            activities.append(Activity("T", 0))
    nothing = (0,) * len(total)
    return Manager(
        total,
        {number: Task(activities, nothing, nothing) for number, activities in to_do.items()},
        is_banker,
    ).run()


def _activities(word: str) -> list[Activity]:
    found = ACTIVITY.fullmatch(word)
    assert found, word
    delay, kind, amounts, letter, end = found.groups()
    if end:
        return [Activity("T", int(end))]
    if kind == "c":
        return [
            Activity("c", int(delay or 0), int(units), ordinal)
            for ordinal, units in enumerate(amounts.split(","))
        ]
    return [Activity(kind, int(delay or 0), int(amounts), "abcdefgh".index(letter or "a"))]
