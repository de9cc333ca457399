"""The units that a shift holds, and its requests for more, such as memory for large documents. No
other part of a shift makes requests of the pool.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from uuid import UUID, uuid4

from django.db.models import Q

from allocation.errors import AllocationError, BankBusy, StaleEpoch
from allocation.models import Process, Request, RequestKind, RequestState
from allocation.selectors import outcome_of, terms_of
from allocation.services import (
    RequestOutcome,
    cancel_request,
    change_claim,
    is_holder,
    release_resources,
    request_resources,
)
from crawling.machine.memory_limit import MIB, MemoryLimit, resident_bytes
from crawling.models import Shift
from crawling.orders.claims import EDITABLE, GROWING, memory_share_mib
from crawling.runs.idle_capacity import REFUSED_SECONDS
from crawling.web.fetch.budgets import DEADLINE_SECONDS, Bandwidth, MemoryBudget
from crawling.web.fetch.progress import FetchStep, ProgressBoard

KIB = 1024


class ShiftGrants:
    """The units of a shift: `held` is what the pool says it holds, by resource class. `look`
    notices growth that is granted later.
    """

    def __init__(self, shift: Shift) -> None:
        self._shift = shift
        self.claim: dict[str, int] = shift.process.run.crawl.claim
        assert shift.process.bank_process_id is not None
        self._process = shift.process.bank_process_id
        self._max: dict[str, int] = {}
        self._waiting: UUID | None = None
        self._stage: UUID | None = None
        self._grows_after = 0.0
        #: from requests to the pool's answers
        self.deciding_seconds = 0.0
        self.held = self._read()

    def _read(self) -> dict[str, int]:
        """The units held. The same query reads the pool's Max."""
        self._max, held = terms_of(self._process)
        return {**dict.fromkeys(self.claim, 0), **held}

    def left(self, key: str) -> int:
        return min(self.claim.get(key, 0), self._max.get(key, 0)) - self.held.get(key, 0)

    def obey(self, claim: Mapping[str, int], threads: int) -> None:
        """Follow an order whose Max was edited. Give back what the shift holds above the new Max,
        but no slot that one of the `threads` still at work uses, and then lower Max in the pool.
        Raised amounts are requested when they are needed. Max in the pool is as it was last read.

        Units of browsers are given back by the stage that has them.
        """
        self.claim = dict(claim)
        # A raise reaches the pool before the order is written, since a shift that followed the old
        # order may have lowered Max again.
        edited = EDITABLE & claim.keys()
        if raised := {key: claim[key] for key in edited if claim[key] > self._max.get(key, 0)}:
            with suppress(AllocationError):  # requested again in a moment
                change_claim(process=self._process, maximum=raised)
        lowered = {key: claim[key] for key in edited if claim[key] < self._max.get(key, 0)}
        if not lowered:
            return
        if self._waiting:
            cancel_request(request_id=self._waiting)
            self.look()
        kept = {**claim, "fetch_slots": max(claim["fetch_slots"], threads)}
        if surplus := {
            key: self.held[key] - kept[key]
            for key in GROWING & lowered.keys()
            if self.held[key] > kept[key]
        }:
            self.give_back(surplus, "Max was lowered")
        if all(self.held[key] <= units for key, units in lowered.items()):
            with suppress(BankBusy):  # requested again in a moment
                change_claim(process=self._process, maximum=lowered)

    def grow(
        self,
        wanted: Mapping[str, int],
        memory_for: Callable[[int], int],
        *,
        is_idle_only: bool = False,
    ) -> None:
        """Request up to `wanted` more fetch threads and look-ups, within the claim.

        Never blocks: a request that is not granted waits in the pool, unless the crawl uses idle
        capacity only.

        memory_for: the memory that a number of fetch threads needs.
        """
        if self._waiting or self._stage or time.monotonic() < self._grows_after:
            return
        amounts = {key: min(wanted.get(key, 0), self.left(key)) for key in GROWING}
        if (slots := amounts["fetch_slots"]) > 0:
            memory = memory_for(self.held["fetch_slots"] + slots) - self.held["memory"]
            amounts["memory"] = min(memory, self.left("memory"))
        amounts = {key: units for key, units in amounts.items() if units > 0}
        if not amounts:
            return
        self._check_holder()
        request_id = uuid4()
        outcome = self._request(amounts, request_id, RequestKind.GROWTH)
        if outcome.granted:
            self.held = self._read()
            return
        self._waiting = request_id
        if is_idle_only:
            cancel_request(request_id=request_id)
            self.look()
            self._grows_after = time.monotonic() + REFUSED_SECONDS

    def reread(self) -> None:
        self._max, _ = terms_of(self._process)

    def look(self) -> None:
        """Notice that requested growth was granted, or has ended otherwise."""
        if self._waiting:
            outcome = outcome_of(self._waiting)
            if outcome is None or outcome.state != RequestState.WAITING:
                self._waiting = None
                self.held = self._read()

    def request_stage(self, amounts: Mapping[str, int], deadline_seconds: float) -> bool:
        """Request what a document in hand needs while holding all else. Return whether the pool
        granted it at once.

        Otherwise the request waits in the pool.
        """
        self._check_holder()
        self._stage = uuid4()
        outcome = self._request(amounts, self._stage, RequestKind.STAGE, deadline_seconds)
        return self._note_stage_state(outcome.state)

    def _request(
        self,
        amounts: Mapping[str, int],
        request_id: UUID,
        kind: RequestKind,
        deadline_seconds: float | None = None,
    ) -> RequestOutcome:
        began = time.monotonic()
        try:
            return request_resources(
                process=self._process,
                amounts=amounts,
                request_id=request_id,
                kind=kind,
                epoch=self._shift.epoch,
                deadline_seconds=deadline_seconds,
            )
        finally:
            self.deciding_seconds += time.monotonic() - began

    @property
    def has_stage(self) -> bool:
        """Whether a stage waits. There is at most one stage, of any kind; its deadline ends it."""
        return self._stage is not None

    def stage_granted(self, *, give_up: bool) -> bool:
        """Whether the requested stage is granted. `give_up` withdraws it if it is not."""
        if self._stage is None:
            return False
        outcome = cancel_request(request_id=self._stage) if give_up else outcome_of(self._stage)
        return outcome is not None and self._note_stage_state(outcome.state)

    def stage_is_over(self, *, give_up: bool) -> bool:
        """Whether the requested stage no longer waits: it was granted, its deadline has passed, or
        `give_up` withdrew it.
        """
        self.stage_granted(give_up=give_up)
        return not self.has_stage

    def give_back(self, amounts: Mapping[str, int], reason: str) -> None:
        self._check_holder()
        release_resources(
            process=self._process,
            epoch=self._shift.epoch,
            release_id=uuid4(),
            amounts=amounts,
            reason=reason,
        )
        self.held = self._read()

    def _check_holder(self) -> None:
        """Raise StaleEpoch if another worker has the shift of this epoch.

        After a failover that lost commits, an epoch repeats. The pool compares only epochs, so the
        requests and releases of this shift would count as its successor's.
        """
        epoch, worker = self._shift.epoch, self._shift.worker
        if not is_holder(process=self._process, epoch=epoch, worker=worker):
            latest = Process.objects.values_list("epoch", flat=True).get(pk=self._process)
            raise StaleEpoch(process=str(self._shift.process), epoch=epoch, latest=latest)

    def _note_stage_state(self, state: str) -> bool:
        """Whether the stage is granted. It replaces a growth that waited."""
        if state != RequestState.WAITING:
            self._stage = None
            self.look()
            self.held = self._read()
        return state == RequestState.GRANTED

    def others_wait(self) -> bool:
        """Whether another process waits for units in this pool. Processes of crawls that use idle
        capacity only do not count.
        """
        waiting = Request.objects.filter(pool__processes=self._process, state=RequestState.WAITING)
        idle = Q(process__run_process__run__crawl__idle_only=True)
        return bool(waiting.exclude(idle).exclude(process=self._process).exists())


class ResourceUse:
    """The units that a shift uses, read by its own thread about once a second.

    look_ups: names being looked up. has_archive: whether an archive file is open. browsers: the
    units of open browser pages, by class; empty for a shift that renders none.
    """

    def __init__(
        self,
        board: ProgressBoard,
        bandwidth: Bandwidth,
        budget: MemoryBudget,
        *,
        look_ups: Callable[[], int],
        has_archive: Callable[[], bool],
        browsers: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._board, self._bandwidth, self._budget = board, bandwidth, budget
        self._look_ups, self._has_archive, self._browsers = look_ups, has_archive, browsers
        self._began_with = resident_bytes()
        self._received, self._read_at = 0, time.monotonic()

    def read(self) -> dict[str, int]:
        """Units in use, by class. Bandwidth is the mean since the last call. Memory is the growth
        of this process plus the most that programs that read PDF may use.
        """
        now, received = time.monotonic(), self._bandwidth.taken
        rate = (received - self._received) / max(now - self._read_at, 1e-3)
        self._received, self._read_at = received, now
        grown = max(0, resident_bytes() - self._began_with) + self._budget.taken
        at_work = [line.step != FetchStep.WAITING_FOR_HOST for line in self._board.lines().values()]
        return {
            "worker": 1,
            "fetch_slots": sum(at_work),
            "bandwidth": round(rate / KIB),
            "memory": round(grown / MIB),
            "dns_slots": self._look_ups(),
            "archive_writers": int(self._has_archive()),
            **self._browsers(),
        }


#: the time between two looks at a wait
LOOK_SECONDS = 0.2
#: memory that is unused for this long is released
IDLE_SECONDS = 5.0


class MemoryStage:
    """The shift's requests for memory. Used by the shift's own thread.

    A shift begins with the shares of its fetch threads, and holds everything else while it requests
    more.
    """

    def __init__(self, grants: ShiftGrants) -> None:
        self._grants = grants
        self._limit = MemoryLimit()
        self._share = memory_share_mib(grants.claim)
        self.budget = MemoryBudget(rest=self._spare_bytes(), most=self._claimable_spare_bytes())
        self._is_asked = False
        self._looked_at = self._used_at = time.monotonic()

    def set_limit(self, *, beside: int = 0) -> None:
        """Limit this process to the held memory plus `beside` bytes."""
        self._limit.allow(self._grants.held["memory"] * MIB + beside)

    def end(self) -> None:
        self._limit.end()

    def units_for(self, threads: int) -> int:
        """The MiB of the shares of `threads` fetch threads."""
        return -(-self._share * threads // MIB)

    def most_threads(self) -> int:
        """The number of threads for which the held memory has shares."""
        return self._grants.held["memory"] * MIB // self._share

    def _spare_bytes(self) -> int:
        return max(0, self._grants.held["memory"] - self._units_of_shares()) * MIB

    def _claimable_spare_bytes(self) -> int:
        return max(0, self._grants.claim["memory"] - self._units_of_shares()) * MIB

    def _units_of_shares(self) -> int:
        return self.units_for(
            max(self._grants.held["fetch_slots"], self._grants.claim["fetch_slots"])
        )

    def tend(self) -> None:
        """Request the memory that the next document lacks, check an earlier request, and give back
        idle memory.

        A document that lacks memory keeps a fetch thread meanwhile, so its memory is requested at
        once.
        """
        now, shortage = time.monotonic(), self.budget.shortage()
        if now - self._looked_at < LOOK_SECONDS and (self._is_asked or not shortage):
            return
        self._looked_at = now
        if self._is_asked:
            self._is_asked = not self._grants.stage_is_over(give_up=not shortage)
        elif shortage:
            self._request_memory(shortage)
        self.budget.set_rest(self._spare_bytes(), self._claimable_spare_bytes())
        self._give_back_idle(now)

    def _request_memory(self, shortage: int) -> None:
        units = min(-(-shortage // MIB), self._grants.left("memory"))
        if units > 0 and not self._grants.has_stage:
            self._is_asked = not self._grants.request_stage({"memory": units}, DEADLINE_SECONDS)

    def _give_back_idle(self, now: float) -> None:
        units = self._spare_bytes() // MIB
        if self._is_asked or not units or not self.budget.is_idle:
            self._used_at = now
        elif now - self._used_at > IDLE_SECONDS and self.budget.clear():
            self._grants.give_back({"memory": units}, "no document needs it")
