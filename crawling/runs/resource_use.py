"""How much of what is reserved the crawls at work use: threads that fetch, bytes that arrive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from django.db.models import Sum
from django.utils import timezone

from allocation.snapshot import PoolCard
from crawling.models import RunCount, Shift
from crawling.web.fetch.progress import FetchStep

MINUTE = timedelta(minutes=1)


def units_in_use() -> dict[str, int]:
    """By resource class; unmeasured classes are left out.

    Threads as their shifts wrote them down a second ago at most, bandwidth over the last minute or
    two.
    """
    now = timezone.now()
    since = now.replace(second=0, microsecond=0) - MINUTE
    live = Shift.objects.filter(ended_at=None)
    threads = live.values_list("fetch_threads", flat=True)
    received = RunCount.objects.filter(
        minute__gte=since, run__in=live.values("process__run")
    ).aggregate(bytes=Sum("bytes", default=0))["bytes"]
    return {
        "worker": len(threads),
        "fetch_slots": sum(
            step != FetchStep.WAITING_FOR_HOST for shift in threads for _, step, *_ in shift
        ),
        "bandwidth": round(max(0, received) / (now - since).total_seconds() / 1024),
    }


def with_use(cards: Sequence[PoolCard]) -> list[PoolCard]:
    """The pools, the crawls' own with what is in use there."""
    if not cards:
        return []
    # Crawls are registered in the oldest.
    mine, used = min(card.id for card in cards), units_in_use()
    return [
        replace(
            card, resources=tuple(replace(row, in_use=used.get(row.key)) for row in card.resources)
        )
        if card.id == mine
        else card
        for card in cards
    ]
