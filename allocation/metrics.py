"""Metrics of pools for Prometheus, read from the rows at each scrape. No counter is kept in memory,
so none can be wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from django.db.models import Count, Max, Min
from django.utils import timezone
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from allocation.isolation import repeatable_read
from allocation.models import Conservation, Event, LedgerCheckpoint, Pool, Request, RequestState

#: the kinds of events that are answers to requests
DECISIONS = ("granted", "waiting", "rejected")


class BankCollector(Collector):
    """Collects the metrics of all pools, as of the moment of the scrape."""

    def collect(self) -> Iterator[Metric]:
        with repeatable_read():
            pools = list(Pool.objects.order_by("pk"))
            yield from _unit_metrics()
            yield from _wait_metrics(pools)
            yield from _ledger_metrics(pools)
            safe = GaugeMetricFamily(
                "crawlsite_pool_is_safe",
                "1 if the pool's state is known to be safe.",
                labels=["pool"],
            )
            for pool in pools:
                safe.add_metric([pool.name], int(pool.is_safe))
            yield safe


def _unit_metrics() -> Iterator[Metric]:
    labels = ["pool", "resource"]
    capacity = GaugeMetricFamily(
        "crawlsite_pool_capacity_units", "Units that exist.", labels=labels
    )
    available = GaugeMetricFamily("crawlsite_pool_available_units", "Free units.", labels=labels)
    error = GaugeMetricFamily(
        "crawlsite_pool_conservation_error_units",
        "Units that are missing, or held without a grant: must be 0.",
        labels=labels,
    )
    for row in Conservation.objects.select_related("pool").order_by("pool", "ordinal"):
        capacity.add_metric([row.pool.name, row.key], row.capacity)
        available.add_metric([row.pool.name, row.key], row.available)
        error.add_metric([row.pool.name, row.key], abs(row.difference) + abs(row.ungranted))
    yield from (capacity, available, error)


def _wait_metrics(pools: list[Pool]) -> Iterator[Metric]:
    waiting = GaugeMetricFamily(
        "crawlsite_pool_waiting_requests", "Requests that wait.", labels=["pool"]
    )
    oldest = GaugeMetricFamily(
        "crawlsite_pool_oldest_wait_seconds",
        "How long the oldest of them has waited.",
        labels=["pool"],
    )
    bypassed = GaugeMetricFamily(
        "crawlsite_pool_most_bypasses", "How often one of them was passed at most.", labels=["pool"]
    )
    rows = Request.objects.filter(state=RequestState.WAITING).values("pool").order_by("pool")
    found = {
        row["pool"]: row
        for row in rows.annotate(count=Count("pk"), since=Min("created_at"), most=Max("bypassed"))
    }
    now = timezone.now()
    for pool in pools:
        row = found.get(pool.pk)
        waiting.add_metric([pool.name], row["count"] if row else 0)
        oldest.add_metric([pool.name], max(0.0, (now - row["since"]).total_seconds()) if row else 0)
        bypassed.add_metric([pool.name], row["most"] if row else 0)
    yield from (waiting, oldest, bypassed)


def _ledger_metrics(pools: list[Pool]) -> Iterator[Metric]:
    events = CounterMetricFamily(
        "crawlsite_pool_events", "Entries of the ledger.", labels=["pool", "kind"]
    )
    decisions = CounterMetricFamily(
        "crawlsite_pool_decisions",
        "Requests answered: granted, made to wait or rejected.",
        labels=["pool"],
    )
    for pool in pools:
        counts = _event_counts(pool)
        for kind, count in sorted(counts.items()):
            events.add_metric([pool.name, kind], count)
        decisions.add_metric([pool.name], sum(counts[kind] for kind in DECISIONS))
    yield from (events, decisions)


def _event_counts(pool: Pool) -> Counter[str]:
    """The number of events by kind: those of the latest checkpoint, and of later events.

    Reading the whole ledger would be too much for a scrape.
    """
    last = LedgerCheckpoint.objects.filter(pool=pool).order_by("-version").first()
    since = Event.objects.filter(pool=pool, version__gt=last.version if last else 0)
    counts = Counter[str](last.state["counts"] if last else {})
    counts.update(dict(since.order_by().values_list("kind").annotate(Count("pk"))))
    return counts
