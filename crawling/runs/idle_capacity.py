"""Capacity of a pool for which no process waits, and the crawls that use no other capacity (SEEDS
part 4, ICDL).

A request of such a crawl never stays in the pool's queue: it is granted at once or withdrawn. So no
other process waits because of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from allocation.models import ProcessState, Request, RequestState
from allocation.selectors import format_amounts
from allocation.wording import joined_in_words
from crawling.frontier import seconds_until_due
from crawling.installation.pools import pool_of
from crawling.models import CrawlJob, RunProcess
from crawling.models.jobs import WORKING_STATES
from crawling.orders.claims import start_amounts
from crawling.runs.grants import request_start

#: the seconds for which a refused request is not repeated, since the ledger records each request
REFUSED_SECONDS = 30.0


def lack_of_idle_capacity(crawl: CrawlJob) -> str:
    """The reason why no process of the crawl could begin a shift now without units for which other
    processes wait; empty if one could. Only the pool's free units are compared.
    """
    pool = pool_of(crawl)
    waits = Request.objects.filter(pool=pool, state=RequestState.WAITING)
    if count := waits.count():
        first = waits.order_by("turn", "seq").values_list("process__label", flat=True).first()
        more = f" and {count - 1:,} more" if count > 1 else ""
        return f"{first}{more} in the pool {pool.name} waits for resources."
    keys = list(pool.classes.order_by("ordinal").values_list("key", flat=True))
    free = dict(zip(keys, map(int.__sub__, pool.available, pool.reserved), strict=False))
    capacity = dict(zip(keys, pool.capacity, strict=False))
    if any(units > capacity.get(key, 0) for key, units in crawl.claim.items()):
        return f"The pool {pool.name} has less capacity than the crawl claims."
    wanted = start_amounts(crawl.claim)
    missing = {
        key: units - free.get(key, 0) for key, units in wanted.items() if units > free.get(key, 0)
    }
    if missing:
        return f"The pool {pool.name} lacks {joined_in_words(format_amounts(pool.pk, missing))}."
    return ""


def start_while_idle(processes: Iterable[RunProcess]) -> list[int]:
    """Request the starts of these processes in turn, each only if its pool has idle capacity.
    Return the ids of the processes that were granted a start.

    If a process is refused, no other process with the same claim on the same pool is tried.
    """
    refused, asked = set(), list[int]()
    for process in processes:
        crawl = process.run.crawl
        kind = (crawl.pool, tuple(sorted(start_amounts(crawl.claim).items())))
        if kind in refused:
            continue
        if lack_of_idle_capacity(crawl):
            refused.add(kind)
        else:
            request_start(process)
            asked.append(process.pk)
    return asked


def is_start_allowed_now(process: RunProcess) -> bool:
    """Whether another process that uses only the pool's idle capacity has a URL due and no
    shift.
    """
    assert process.bank_process is not None
    others = RunProcess.objects.filter(
        run__crawl__idle_only=True,
        run__state__in=WORKING_STATES,
        is_extra=False,
        is_retired=False,
        bank_process__state=ProcessState.ACTIVE,
        bank_process__lease_until=None,
        bank_process__pool=process.bank_process.pool_id,
    )
    return any(map(_is_due, others.select_related("run").exclude(pk=process.pk)))


def _is_due(process: RunProcess) -> bool:
    due_in = seconds_until_due(process)
    return due_in is not None and due_in <= 0
