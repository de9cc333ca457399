"""Holds units of the pool for a short time, outside any run. A separate process in the pool
requests its whole claim once and holds nothing else, so it can always finish. It requests no unit
of `worker`: these are for shifts, and the caller already has a worker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from uuid import uuid4

from django.conf import settings
from django.db import DatabaseError, connections

from allocation.models import Process, ProcessState, Request, RequestState
from allocation.selectors import outcome_of
from allocation.services import (
    RequestKind,
    cancel_request,
    finish_process,
    register_process,
    renew_lease,
    request_resources,
    take_lease,
)
from crawling.base.errors import CrawlError
from crawling.installation.pools import capacity_of, default_pool

#: the prefix of the references of such processes in the pool; they get no shifts
TEMPORARY_REF = "moment/"
#: the priority of work that a user waits for on a page: before all crawls
URGENT = 10
#: the priority of work that can wait: after all crawls
IDLE = -10
LOOK_SECONDS = 0.2


class NoUnits(CrawlError):
    """The pool could not spare the needed units in time; try again in a moment."""


@contextmanager
def temporary_grant(
    wanted: Mapping[str, int],
    *,
    label: str,
    reference: str,
    wait_seconds: float,
    priority: int = URGENT,
) -> Iterator[tuple[Mapping[str, int], threading.Event]]:
    """Hold the wanted units, or as many as the pool has in total, and give everything back at the
    end.

    Yields the units by class, and an event. The event is set if the units are taken back; the
    caller must then stop. Raises NoUnits if they are not granted in time, AllocationError if the
    pool is busy, NoPool if there is no pool.
    """
    pool = default_pool()
    capacity = capacity_of(pool)
    amounts = {key: min(n, capacity[key]) for key, n in wanted.items() if capacity.get(key)}
    process = register_process(
        pool=pool.pk,
        label=label,
        run_ref=f"{TEMPORARY_REF}{reference}",
        maximum=amounts,
        priority=priority,
    ).pk
    over, lost = threading.Event(), threading.Event()
    renewing: threading.Thread | None = None
    try:
        epoch = _await_grant(process, amounts, wait_seconds)
        if not take_lease(process=process, epoch=epoch, worker=label):
            raise NoUnits
        renewing = threading.Thread(
            target=_renew_lease, args=(process, epoch, over, lost), daemon=True
        )
        renewing.start()
        yield amounts, lost
    finally:
        over.set()
        if renewing:
            renewing.join()
        finish_process(process=process)


def is_held_class_scarce(held: Iterable[str]) -> bool:
    """Whether a request waits for more units of a held class than are free."""
    pool = default_pool()
    keys = pool.classes.values_list("key", flat=True)
    waiting = Request.objects.filter(pool=pool, state=RequestState.WAITING)
    lacked = {
        key
        for amounts in waiting.values_list("amounts", flat=True)
        for key, amount, free in zip(keys, amounts, pool.available, strict=False)
        if amount > free
    }
    return not lacked.isdisjoint(held)


def release_orphaned_grant(reference: str) -> None:
    """End the process in the pool that a killed caller has left, if there is one."""
    left = Process.objects.filter(run_ref=f"{TEMPORARY_REF}{reference}", state=ProcessState.ACTIVE)
    for process in left.values_list("pk", flat=True):
        finish_process(process=process)


def _await_grant(process: int, amounts: Mapping[str, int], wait_seconds: float) -> int:
    """Request the amounts. Return the epoch of the grant. Raises NoUnits."""
    request_id, until = uuid4(), time.monotonic() + wait_seconds
    found = request_resources(
        process=process,
        amounts=amounts,
        request_id=request_id,
        kind=RequestKind.START,
        deadline_seconds=wait_seconds,
    )
    while not found.granted and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)  # the row is checked, since any process may make the grant
        found = outcome_of(request_id) or found
    if not found.granted:
        found = cancel_request(request_id=request_id)
    if not found.granted or found.epoch is None:
        raise NoUnits
    return found.epoch


def _renew_lease(process: int, epoch: int, over: threading.Event, lost: threading.Event) -> None:
    renewed_at = time.monotonic()
    while not over.wait(settings.BANK_LEASE_SECONDS / 3):
        try:
            is_alive = renew_lease(process=process, epoch=epoch)
        except DatabaseError:  # PostgreSQL may be back at the next turn
            connections.close_all()
            is_alive = time.monotonic() - renewed_at < settings.BANK_LEASE_SECONDS * 2 / 3
        else:
            renewed_at = time.monotonic()
        if not is_alive:
            lost.set()
            break
    connections.close_all()
