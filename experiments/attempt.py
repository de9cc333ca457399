"""One attempt at one request: it takes units piece by piece, fetches pages while holding them, and
gives all of them back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol
from uuid import UUID, uuid4

from django.db import DatabaseError
from django.utils import timezone

from allocation.errors import AllocationError, ClaimExceedsCapacity, RequestExceedsNeed
from allocation.models import Pool, Request, RequestState
from allocation.rules.banker import Vector
from allocation.selectors import outcome_of
from allocation.services import (
    RequestKind,
    RequestOutcome,
    cancel_request,
    finish_process,
    register_process,
    request_resources,
    take_lease,
)
from crawling.web.fetch.adapter import PinnedSession
from experiments.models import Experiment, ExperimentOutcome
from experiments.store import AttemptResult
from experiments.workload import CLASSES, WorkloadJob

#: the prefix of the names of an experiment's processes in the pool, which get no shifts
EXPERIMENT_REF = "experiment/"
#: how often a waiting thread checks its request without being woken
LOOK_SECONDS = 5.0
#: the time after the bound at which the pool ends a wait itself, in case this program was killed
GRACE_SECONDS = 5.0


class WaitRegistry:
    """Each thread registers its request before sending it; after a release the releasing thread
    finds out which requests were served.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._expected: dict[UUID, threading.Event] = {}

    @contextmanager
    def expect_request(self, request_id: UUID) -> Iterator[threading.Event]:
        """Yield an event that is set once the request no longer waits."""
        served = threading.Event()
        with self._lock:
            self._expected[request_id] = served
        try:
            yield served
        finally:
            with self._lock:
                del self._expected[request_id]

    def wake_served(self) -> None:
        """Wake the threads whose requests no longer wait: one query for all."""
        with self._lock:
            expected = dict(self._expected)
        if not expected:
            return
        for served in (
            Request.objects.filter(pk__in=expected)
            .exclude(state=RequestState.WAITING)
            .values_list("pk", flat=True)
        ):
            expected[served].set()

    def wake_all(self) -> None:
        with self._lock:
            for served in self._expected.values():
                served.set()


class WaitBoundExceeded(Exception):
    """The request has waited longer than the bound allows."""

    def __init__(self, *, deadlocked: bool) -> None:
        super().__init__(self.__doc__)
        self.deadlocked = deadlocked


class ExperimentStopped(Exception):
    """The experiment is being ended."""


class AttemptLost(Exception):
    """A page could not be fetched, or the units were taken away."""


class AttemptContext(Protocol):
    experiment: Experiment
    pool: Pool
    waits: WaitRegistry
    #: the epoch of every living shift, by process
    leases: dict[int, int]
    stopping: threading.Event

    def fetch(self, session: PinnedSession, page: int) -> None:
        """Fetch a page of the experiment's web. Raises AttemptLost, ExperimentStopped."""

    def deadlocked_now(self) -> frozenset[int]:
        """the processes that are truly deadlocked"""


class RequestAttempt:
    def __init__(
        self, context: AttemptContext, session: PinnedSession, job: WorkloadJob, number: int
    ) -> None:
        self._context, self._session, self._job, self._number = context, session, job, number
        #: None until the pool knows the process
        self.process: int | None = None
        self._epoch: int | None = None
        self._waited = self._deciding = 0.0
        self._pages = 0

    def run(self) -> AttemptResult:
        """Make one attempt and return its result. Raises ExperimentStopped.

        However it ends, all units are released.
        """
        started_at = timezone.now()
        outcome, deadlocked, detail = ExperimentOutcome.COMPLETED, False, ""
        try:
            self._do_steps()
        except WaitBoundExceeded as over:
            outcome, deadlocked = ExperimentOutcome.LOCKED, over.deadlocked
        except (RequestExceedsNeed, ClaimExceedsCapacity) as error:
            outcome, detail = ExperimentOutcome.BREACH, str(error)
        except (AttemptLost, AllocationError, DatabaseError) as error:
            outcome, detail = ExperimentOutcome.CRASHED, str(error)
        finally:
            self._finish_process()
        return AttemptResult(
            self._job.number,
            self._number,
            started_at,
            timezone.now(),
            self._waited,
            outcome,
            deadlocked,
            pages=self._pages,
            deciding_seconds=self._deciding,
            detail=detail,
        )

    def _do_steps(self) -> None:
        label = self._job.label if self._number == 1 else f"{self._job.label}, try {self._number}"
        reference = f"{EXPERIMENT_REF}{self._context.experiment.pk}/{label}"
        self.process = register_process(
            pool=self._context.pool.pk,
            label=label,
            run_ref=reference,
            maximum=amounts_by_key(self._job.claim),
        ).pk
        for step in self._job.steps:
            self._take_units(step.amounts)
            for page in step.pages:
                self._context.fetch(self._session, page)
                self._pages += 1

    def _take_units(self, amounts: Vector) -> None:
        """Request the units, and wait for the grant. Raises WaitBoundExceeded."""
        assert self.process is not None
        request_id = uuid4()
        with self._context.waits.expect_request(request_id) as served:
            began = time.monotonic()
            outcome = request_resources(
                process=self.process,
                amounts=amounts_by_key(amounts),
                request_id=request_id,
                kind=RequestKind.STAGE if self._epoch else RequestKind.START,
                epoch=self._epoch,
                deadline_seconds=self._context.experiment.bound_seconds + GRACE_SECONDS,
            )
            self._deciding += time.monotonic() - began
            if not outcome.granted:
                outcome = self._await_units(request_id, served)
        self._begin_shift(outcome)

    def _await_units(self, request_id: UUID, served: threading.Event) -> RequestOutcome:
        """Wait for units that were not granted at once; only this counts as waiting, not how busy
        the machine is.
        """
        began = time.monotonic()
        try:
            while (
                left := self._context.experiment.bound_seconds
                - self._waited
                - (time.monotonic() - began)
            ) > 0:
                outcome = self._check_once(request_id, served, left)
                if outcome.granted:
                    return outcome
            return self._cancel_request(request_id)
        finally:
            self._waited += time.monotonic() - began

    def _check_once(self, request_id: UUID, served: threading.Event, left: float) -> RequestOutcome:
        served.wait(min(left, LOOK_SECONDS))
        if self._context.stopping.is_set():
            raise ExperimentStopped
        outcome = outcome_of(request_id)
        if outcome is None or outcome.state not in (RequestState.WAITING, RequestState.GRANTED):
            raise AttemptLost(
                f"The request was {outcome.state if outcome else 'rejected'} by the pool."
            )
        return outcome

    def _cancel_request(self, request_id: UUID) -> RequestOutcome:
        """Raise WaitBoundExceeded, with the state of the pool's rows at this moment, unless a grant
        came first.
        """
        deadlocked = self.process in self._context.deadlocked_now()
        outcome = cancel_request(request_id=request_id)
        if not outcome.granted:
            raise WaitBoundExceeded(deadlocked=deadlocked)
        return outcome

    def _begin_shift(self, outcome: RequestOutcome) -> None:
        if self._epoch is None:
            assert self.process is not None
            assert outcome.epoch is not None
            if not take_lease(
                process=self.process,
                epoch=outcome.epoch,
                worker=f"experiment {self._context.experiment.pk}",
            ):
                raise AttemptLost("The lease of its units was over before it began.")
            self._epoch = outcome.epoch
            self._context.leases[self.process] = outcome.epoch

    def _finish_process(self) -> None:
        """Give all units back, and wake the threads whose requests this served.

        If the database cannot be reached, the lease expires.
        """
        if self.process is not None:
            self._context.leases.pop(self.process, None)
            finish_process(process=self.process)
            self._context.waits.wake_served()


def amounts_by_key(amounts: Vector) -> Mapping[str, int]:
    return {key: units for (key, _, _), units in zip(CLASSES, amounts, strict=True) if units}
