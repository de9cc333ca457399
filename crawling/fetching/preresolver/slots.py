"""The holdings of a pre-resolver: DNS slots of the pool, held by a process that belongs to no run,
and the machine's lock. On each machine one process resolves ahead: the process whose connection to
PostgreSQL holds that lock.
"""

from __future__ import annotations

import logging
import time
from uuid import uuid4

import psycopg
from django.conf import settings
from django.db import connection

from allocation.errors import AlreadyStarted, AlreadyWaiting
from allocation.models import Process, ProcessState, Request, RequestKind, RequestState
from allocation.services import (
    GRANTS_CHANNEL,
    cancel_request,
    finish_process,
    register_process,
    release_resources,
    renew_lease,
    request_resources,
    take_lease,
)
from crawling.base.sessions import open_session
from crawling.installation.pools import default_pool
from crawling.machine.notices import StopEvent, await_notice

logger = logging.getLogger(__name__)

#: the beginning of the names of such processes in the pool; the scheduler starts no shift for them
NAMES_REF = "names/"
CLASS = "dns_slots"
#: the divisor of the pre-resolver's claim, which is the pool's DNS slots divided by this. Shifts
#: look up hardly any names while the gate works. If the servers of two names in a hundred are
#: silent, each takes a slot for eight seconds, so with a quarter of the slots crawls waited for
#: names
SHARE = 2
#: any number, as long as this database uses it for no other lock with two numbers
SEAT_LOCK = 726_610


#: the time between two tries to take the lock while another process of the machine has it
TAKEN_SECONDS = 1.0
#: for a lock by two numbers; pg_locks shows the locks of all databases of the server
IS_TAKEN = """
SELECT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objsubid = 2 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""


class LookupSlots:
    """The pre-resolver may have `held` look-ups in flight.

    Like a shift, the holder gives everything back when its slice is over and others wait.

    So every process of the pool ends in finite time, which a safe state presupposes.
    """

    def __init__(self, machine: str) -> None:
        self._machine = machine
        self.held = 0
        self._process = self._epoch = 0
        self._began_at = self._renewed_at = 0.0

    def settle(self) -> None:
        """Give back the units that a predecessor on this machine held when it died."""
        for row in Process.objects.filter(run_ref=self._reference, state=ProcessState.ACTIVE):
            finish_process(process=row.pk)

    def look(self, *, wanted: bool) -> None:
        """Request slots, take granted ones into use, and keep or return them.

        Called every second; it never waits.
        """
        if self.held:
            self._keep_or_hand_in(wanted=wanted)
        elif wanted:
            self._request_start()
        elif self._process:
            self._withdraw()

    def hand_in(self, reason: str) -> None:
        """Give everything back."""
        self.held = 0
        release_resources(
            process=self._process,
            epoch=self._epoch,
            release_id=uuid4(),
            amounts=None,
            reason=reason,
        )

    @property
    def _reference(self) -> str:
        return f"{NAMES_REF}{self._machine}"

    def _keep_or_hand_in(self, *, wanted: bool) -> None:
        now = time.monotonic()
        if not wanted:
            self.hand_in("no crawl is running")
        elif now - self._began_at > settings.CRAWL_SLICE_SECONDS and self._others_wait():
            self.hand_in("its time slice is over and others wait")
        elif now - self._renewed_at > settings.BANK_LEASE_SECONDS / 3:
            self._renewed_at = now
            if not renew_lease(process=self._process, epoch=self._epoch):
                logger.warning(
                    "the lease of the pre-resolver was lost", extra={"epoch": self._epoch}
                )
                self.held = 0

    def _request_start(self) -> None:
        """Register the process, again after each turn: an idle process is finished, so that the
        pool has none.
        """
        pool = default_pool()
        units = dict(
            zip(pool.classes.values_list("key", flat=True), pool.capacity, strict=False)
        ).get(CLASS, 0)
        if not units:
            return
        claim = {CLASS: max(1, units // SHARE)}
        latest = Process.objects.filter(run_ref=self._reference, pool=pool).order_by("-pk").first()
        process = register_process(
            pool=pool.pk,
            label=f"DNS resolver ({self._machine})",
            run_ref=self._reference,
            maximum=claim,
            after_epoch=latest.epoch if latest and latest.state == ProcessState.FINISHED else 0,
        )
        self._process = process.pk
        try:
            claimed = dict(
                zip(pool.classes.values_list("key", flat=True), process.max_claim, strict=False)
            )
            request_resources(
                process=process.pk,
                amounts={CLASS: claimed[CLASS]},
                request_id=uuid4(),
                kind=RequestKind.START,
            )
        except (AlreadyWaiting, AlreadyStarted):
            pass  # requested at an earlier look, and perhaps granted since
        self._take_up(claimed[CLASS])

    def _take_up(self, units: int) -> None:
        row = Process.objects.get(pk=self._process)
        if row.lease_until is not None and take_lease(
            process=row.pk, epoch=row.epoch, worker=f"names@{self._machine}"[:64]
        ):
            self.held, self._epoch = units, row.epoch
            self._began_at = self._renewed_at = time.monotonic()

    def _withdraw(self) -> None:
        """Withdraw a request that was not granted, since no more names are needed."""
        for request in Request.objects.filter(process=self._process, state=RequestState.WAITING):
            cancel_request(request_id=request.pk)
        finish_process(process=self._process)
        self._process = 0

    def _others_wait(self) -> bool:
        waiting = Request.objects.filter(pool__processes=self._process, state=RequestState.WAITING)
        return bool(waiting.exclude(process=self._process).exists())


def is_any_taken() -> bool:
    """Whether a pre-resolver runs on any machine, working or idle."""
    with connection.cursor() as cursor:
        cursor.execute(IS_TAKEN, [SEAT_LOCK])
        row = cursor.fetchone()
    return bool(row and row[0])


class MachineLock:
    """A lock that is held for as long as its connection lives, so a dead process holds none."""

    def __init__(self, machine: str) -> None:
        self._machine = machine
        self._connection: psycopg.Connection | None = None
        self._is_held = False

    def is_held(self) -> bool:
        """Try to take the lock, or check that this process still holds it.

        Raises psycopg.OperationalError without a database.
        """
        if self._connection is None or self._connection.closed:
            self._connection = open_session()
            self._is_held = False
        if self._is_held:
            self._connection.execute("SELECT 1")
            for _ in self._connection.notifies(timeout=0):
                pass  # otherwise the slots would be kept for ever while no process waits for them
        else:
            row = self._connection.execute(
                "SELECT pg_try_advisory_lock(%s, hashtext(%s))", [SEAT_LOCK, self._machine]
            ).fetchone()
            self._is_held = bool(row and row[0])
            if self._is_held:
                self._connection.execute(f"LISTEN {GRANTS_CHANNEL}")
        return self._is_held

    def wait(self, seconds: float, ending: StopEvent) -> None:
        """Wait for `seconds`, or until a pool has granted something. Without the lock, wait for a
        shorter time.
        """
        if self._is_held and self._connection:
            await_notice(self._connection, ending, seconds)
        else:
            ending.wait(min(seconds, TAKEN_SECONDS))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
