"""The turns of background jobs that work only while no other process needs the units or the
processors.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from django.db import DatabaseError, connections
from redis.exceptions import RedisError

from crawling.jobs.rq_jobs import (
    is_background_wanted,
    is_first_job_waiting,
    is_time_of_first_jobs_over,
    is_turn_of_others,
    is_user_waiting,
    note_first_jobs_go_ahead,
    note_turn_of_others,
)
from crawling.jobs.temporary_grant import (
    IDLE,
    is_held_class_scarce,
    release_orphaned_grant,
    temporary_grant,
)
from crawling.machine.cpu_affinity import lower_priority_below_shifts, restore_priority

#: A job asks again at its next turn. It must not wait until it is the process that others may no
#: longer bypass.
WAIT_SECONDS = 2.0
#: the time between two checks whether another process waits
LOOK_SECONDS = 0.5
#: The length of a turn among jobs that no user requested. The beginning of a turn takes seconds,
#: for the process, its libraries and the index.
TURN_SECONDS = 10.0
#: The longest step: a check may be as old as LOOK_SECONDS, and a job takes a moment to end.
STEP_SECONDS = 4.0


class IdleTurn:
    """Decides when a job releases its units. It does so as soon as another process needs them, when
    a job that a user requested or that was put first waits for this worker, and after TURN_SECONDS
    if another idle job waits. A job that was put first does not give way to another idle job,
    unless the others have waited so long that it is their turn.

    A thread checks this. While shifts use the processors, a page may take a minute, so the thread
    raises the priority of this work process once a user or another process waits. Another idle job
    does not end the turn, since one of two such jobs always waits.
    """

    def __init__(self, is_first: Callable[[], bool] = lambda: False) -> None:
        """is_first: whether the job itself was put first. Raises RedisError."""
        self._units: Iterable[str] = ()
        self._is_first = is_first
        self._lost, self._is_wanted = threading.Event(), threading.Event()
        #: whether the turn ends for a user's job, and not for another idle job, for which a step is
        #: finished first
        self._is_urgent = threading.Event()
        self._ends_at = math.inf
        self.is_over = False
        #: whether this turn belongs to the jobs that were not put first
        self._is_their_turn = False
        with suppress(RedisError):
            self._is_their_turn = is_time_of_first_jobs_over()
        self.begin()

    def begin(self) -> None:
        """Count TURN_SECONDS from now on, without the time of the preparation."""
        self._yields_at = time.monotonic() + TURN_SECONDS

    def hold(self, units: Iterable[str], lost: threading.Event) -> None:
        """From now on, give way to processes that need these units, and stop if the units are
        lost.
        """
        self._units, self._lost = units, lost

    def goes_on(self) -> bool:
        """Whether the turn lasts. The work calls this after each page."""
        self.is_over = self.is_over or self._lost.is_set() or self._is_wanted.is_set()
        return not self.is_over

    def seconds_left(self) -> float:
        """The seconds for which work that cannot end after each page may continue, so that it
        releases its units within 5 s of another process's request. Infinite while there is no
        request.
        """
        is_lost = self._lost.is_set()
        if not (is_lost or self._is_urgent.is_set()):
            return math.inf
        if self._ends_at == math.inf:
            self._ends_at = time.monotonic() + (0 if is_lost else STEP_SECONDS)
        return self._ends_at - time.monotonic()

    def look(self) -> None:
        """Check whether the turn is over. Raises DatabaseError or RedisError."""
        if is_user_waiting() or is_held_class_scarce(self._units):
            restore_priority()
            self._is_urgent.set()
            self._is_wanted.set()
            return
        lower_priority_below_shifts()
        if self._is_over(is_late=time.monotonic() >= self._yields_at):
            self._is_wanted.set()

    def _is_over(self, *, is_late: bool) -> bool:
        """Whether the turn is over for another idle job. Raises RedisError."""
        if self._is_first():
            note_first_jobs_go_ahead()
            return is_turn_of_others() or (is_late and is_first_job_waiting())
        if is_late:
            note_turn_of_others()
            return is_background_wanted()
        return is_first_job_waiting() and not self._is_their_turn

    def look_until(self, over: threading.Event) -> None:
        while not over.wait(LOOK_SECONDS):
            try:
                self.look()
            except (DatabaseError, RedisError):  # both may be back at the next look
                connections.close_all()
        connections.close_all()


@contextmanager
def idle_turn(
    reference: str, *, label: str, mebibytes: int, is_first: Callable[[], bool] = lambda: False
) -> Iterator[IdleTurn]:
    """Until the block ends, work with a lower priority than shifts, and hold memory, which is
    granted only after all other requests.

    reference: names the job; the units of a killed job with the same reference are released first.
    is_first: see IdleTurn. Raises NoUnits, AllocationError.
    """
    release_orphaned_grant(reference)
    turn, over = IdleTurn(is_first), threading.Event()
    looking = threading.Thread(target=turn.look_until, args=(over,), daemon=True)
    memory = {"memory": mebibytes}
    lower_priority_below_shifts()
    looking.start()
    try:
        with temporary_grant(
            memory, label=label, reference=reference, wait_seconds=WAIT_SECONDS, priority=IDLE
        ) as (units, lost):
            turn.hold(units, lost)
            turn.begin()
            yield turn
    finally:
        over.set()
        looking.join()
        restore_priority()
