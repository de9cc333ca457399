"""A run with rows of its own and nothing else: no bank, no worker, no network."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from contextlib import contextmanager

from django.db import connections, transaction
from django.db.models import Sum

from crawling.frontier import (
    Candidate,
    UrlOutcome,
    claim_urls,
    lease_hosts,
    locked_run,
    return_urls,
    schedule_urls,
)
from crawling.frontier.record.outcome_writer import record_batch
from crawling.frontier.run_counts import COUNTED, count_seeds
from crawling.models import (
    CrawlJob,
    HostQueue,
    Page,
    Run,
    RunCount,
    RunProcess,
    RunTotal,
    Shift,
    Url,
    UrlState,
)
from crawling.web.addresses import read_address

numbers = itertools.count()


class Frontier:
    """One run, its process 0 and that process's shift. URLs are written as `a.test/x`."""

    def __init__(
        self, *, max_pages=None, delay_seconds=0.0, processes=1, order="breadth_first", **ordering
    ):
        crawl = CrawlJob.objects.create(
            name=f"crawl {next(numbers)}",
            seeds=["http://a.test/"],
            max_pages=max_pages,
            delay_seconds=delay_seconds,
            batch_size=100,
            claim={},
            visit_order=order,
            ordering=ordering,
        )
        self.run = Run.objects.create(crawl=crawl, number=1, state="running")
        self.numbers = range(processes)
        self.processes = [
            RunProcess.objects.create(run=self.run, number=number) for number in self.numbers
        ]
        self.shift = self.begin_shift()

    def begin_shift(self, number=0):
        process = self.processes[number]
        return Shift.objects.create(process=process, epoch=process.shifts.count() + 1, worker="w")

    def sow(self, *urls, depth=0, via=None):
        with locked_run(self.run.pk) as run:
            added = schedule_urls(
                run, candidates(*urls, depth=depth, via=via), numbers=self.numbers
            ).new
            count_seeds(run.pk, added)
        return added

    def lease(self, shift=None, *, limit=100, soon=0.0, delay=0.0, lease=60.0, avoid=()):
        return lease_hosts(
            shift or self.shift,
            limit=limit,
            soon_seconds=soon,
            delay_seconds=delay,
            lease_seconds=lease,
            avoid=avoid,
        )

    def claim(self, most=100, shift=None):
        """Claim up to `most` URLs from each of the run's queues; return them in their order."""
        claimed = claim_urls(shift or self.shift, dict.fromkeys(self.queues(), most))
        return sorted(
            (url for urls in claimed.values() for url in urls),
            key=lambda url: (url.lane, url.rank, url.id),
        )

    def record(self, *outcomes, shift=None):
        return record_batch(shift or self.shift, outcomes, numbers=self.numbers)

    def give_back(self, shift=None):
        with locked_run(self.run.pk):
            return_urls(shift or self.shift)

    def in_hand(self):
        """A good outcome for each URL that the shift holds."""
        return [
            outcome(url) for url in Url.objects.filter(shift=self.shift, state="p").order_by("pk")
        ]

    def queues(self):
        return list(
            HostQueue.objects.filter(run=self.run).order_by("pk").values_list("pk", flat=True)
        )

    def urls(self):
        """The URLs in the order of their ids, as `a.test/x`."""
        return [
            url.removeprefix("http://")
            for url in self.run.urls.order_by("pk").values_list("url", flat=True)
        ]

    def states(self):
        return Counter(self.run.urls.values_list("state", flat=True))

    def counts(self):
        return RunCount.objects.filter(run=self.run).aggregate(
            **{
                name: Sum(name, default=0)
                for name in ("discovered", "fetched", "succeeded", "failed", "excluded", "bytes")
            }
        )

    def check(self):
        """Check the promises that must hold after every transaction."""
        states, counts = self.states(), self.counts()
        sums = RunCount.objects.filter(run=self.run).aggregate(
            **{name: Sum(name) for name in COUNTED}
        )
        assert (
            RunTotal.objects.filter(run=self.run).values(*COUNTED).first() or dict.fromkeys(COUNTED)
        ) == sums
        assert counts["discovered"] == states.total()
        assert [counts["succeeded"], counts["failed"], counts["excluded"]] == [
            states["s"],
            states["f"],
            states["x"],
        ]
        ended = Counter(self.run.urls.filter(state__in="sfx").values_list("state", "status"))
        assert (
            Counter(
                {
                    (row.state, row.status): row.urls
                    for row in self.run.status_counts.exclude(urls=0)
                }
            )
            == ended
        )
        for queue in HostQueue.objects.filter(run=self.run):
            assert queue.queued == Url.objects.filter(queue=queue, state=UrlState.QUEUED).count()
            assert queue.done == Url.objects.filter(queue=queue, state__in="sfx").count()
        assert not self.run.urls.filter(state="q", shift__isnull=False).exists()
        assert not self.run.urls.filter(state="p", shift=None).exists()


def candidates(*urls, depth=0, via=None):
    return [Candidate(read_address(f"http://{url}"), depth, via) for url in urls]


def outcome(url, state="s", **fields):
    return UrlOutcome(url.id, UrlState(state), fields.pop("status", 200), **fields)


def rows():
    """All rows that recording an outcome may change."""
    return [
        list(model.objects.order_by("pk").values()) for model in (Url, HostQueue, Page, RunCount)
    ]


@contextmanager
def other_connection(*statements):
    """Run statements in a transaction of another connection, which stays open until the block
    ends."""
    ready, over, troubles = threading.Event(), threading.Event(), []

    def work():
        try:
            with transaction.atomic(), connections["default"].cursor() as cursor:
                for statement in statements:
                    cursor.execute(*statement)
                ready.set()
                over.wait(20)
        except Exception as trouble:  # kept for the test, which raises it
            troubles.append(trouble)
        finally:
            connections.close_all()
            ready.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert ready.wait(20)
        assert troubles == []
        yield
    finally:
        over.set()
        thread.join(60)
