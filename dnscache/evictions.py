"""The history of what left the cache before its time, and the end of histories."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from dnscache.answer_cache import AnswerCache
from dnscache.records import DnsDropped, DnsMinute

MOST_KEPT = 1000
MINUTES_KEPT = timedelta(days=7)


def keep_history(memory: AnswerCache) -> None:
    """Write down what has left the memory since the last call, and forget what is old."""
    dropped, memory.dropped = memory.dropped, []
    DnsDropped.objects.bulk_create(
        DnsDropped(name=one.name, region=one.region, weight=one.weight, why=one.why)
        for one in dropped
    )
    if dropped:
        last = (
            DnsDropped.objects.order_by("-pk")
            .values_list("pk", flat=True)[MOST_KEPT - 1 : MOST_KEPT]
            .first()
        )
        if last:
            DnsDropped.objects.filter(pk__lt=last).delete()
    DnsMinute.objects.filter(minute__lt=Now() - MINUTES_KEPT).delete()
