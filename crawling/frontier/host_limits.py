"""Limits on each host of a run (SEEDS B11): a hard one ends the host's queue."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db.models import Count, Q
from django.utils import timezone

from crawling.frontier.exclusion import exclude
from crawling.models import HostQueue, Run, Url, UrlState
from crawling.web.statuses import FetchStatus

#: URLs of a host that are excluded in one transaction; the others follow with the next claims
MOST_EXCLUDED = 5_000


def spent(budget: Mapping[str, int | None], level: str, now: datetime) -> Q | None:
    """What is true of a host's queue that has reached a limit; None: there are none.

    level: `host_max` or `host_soft`.
    """
    reached = Q()
    if pages := budget.get(f"{level}_pages"):
        reached |= Q(pages__gte=pages)
    if size := budget.get(f"{level}_bytes"):
        reached |= Q(bytes__gte=size)
    if seconds := budget.get(f"{level}_seconds"):
        reached |= Q(began_at__lte=now - timedelta(seconds=seconds))
    return reached or None


def within_host_budget(run: Run, wanted: Mapping[int, int]) -> dict[int, int]:
    """How many URLs each queue may give, which loses what it has once its host's limit is reached.

    The caller holds the run's lock.

    The limit on pages is exact: what is in process counts as had.
    """
    reached = spent(run.crawl.budget, "host_max", timezone.now())
    if reached is None or not wanted:
        return dict(wanted)
    closed = {
        queue.pk: queue
        for queue in HostQueue.objects.select_related("host").filter(
            reached, run=run, pk__in=wanted
        )
    }
    for queue in closed.values():
        sentence = (
            f"{FetchStatus.HOST_BUDGET.sentence} ({queue.host.name}: {queue.pages:,} pages, "
            f"{queue.bytes:,} bytes)"
        )
        waiting = (
            Url.objects.filter(queue=queue, state=UrlState.QUEUED)
            .order_by("lane", "rank", "pk")
            .values_list("pk", flat=True)
        )
        exclude(run.pk, dict.fromkeys(waiting[:MOST_EXCLUDED], sentence), FetchStatus.HOST_BUDGET)
    return {
        queue: count for queue, count in _pages_left(run, wanted).items() if queue not in closed
    }


def _pages_left(run: Run, wanted: Mapping[int, int]) -> dict[int, int]:
    most = run.crawl.budget.get("host_max_pages")
    if not most:
        return dict(wanted)
    had = dict(run.queues.filter(pk__in=wanted).values_list("pk", "pages"))
    in_process = Url.objects.filter(
        queue__in=wanted, state=UrlState.IN_PROCESS, shift__isnull=False
    ).values_list("queue")
    held = dict(in_process.annotate(n=Count("pk")))
    return {
        queue: max(0, min(count, most - had[queue] - held.get(queue, 0)))
        for queue, count in wanted.items()
    }
