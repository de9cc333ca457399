"""Crawls in Prometheus' terms, read from the rows at each scrape."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from crawling.models import Run
from crawling.models.jobs import RunState


class RunCollector(Collector):
    """How many runs are in each state."""

    def collect(self) -> Iterator[Metric]:
        found = dict(Run.objects.order_by().values_list("state").annotate(Count("pk")))
        runs = GaugeMetricFamily("crawlsite_runs", "Runs of crawls, by state.", labels=["state"])
        for state in RunState.values:
            runs.add_metric([state], found.get(state, 0))
        yield runs
