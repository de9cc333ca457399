"""A run with URLs that it has seen, and what is done with links to them and to new ones.

To be imported once Django is set up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from django.db import connection, transaction

from benchmarks.frontier.bloom import Bloom
from crawling.frontier import Candidate, schedule_urls
from crawling.frontier.admit.schedule import FIND_SEEN
from crawling.frontier.admit.seen_urls import SeenUrls
from crawling.frontier.bulk_insert import copy_in
from crawling.models import CrawlJob, Run, Url, UrlState
from crawling.orders.ranking import Order
from crawling.web.addresses import fingerprint, read_address

Step = Callable[[], object]
#: URLs that are copied in at a time
COPIED = 20_000


class Sowings:
    """Steps to be measured, each on so many links.

    Whatever they write is rolled back by the caller.
    """

    def __init__(self, urls: int, links: int) -> None:
        self._crawl = CrawlJob.objects.create(
            name="benchmark of seen", seeds=[], delay_seconds=0, batch_size=100, claim={}
        )
        self._run = Run.objects.create(crawl=self._crawl, number=1)
        self._links = links
        self._seen, self._bloom = SeenUrls(), Bloom(urls, 16)
        schedule_urls(self._run, [page("directory", 0)], numbers=[0])
        for start in range(1, urls, COPIED):
            self._add(range(start, min(urls, start + COPIED)))
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE crawling_url")
        step = max(1, urls // links)
        self._known = [page("directory", number) for number in range(step, urls, step)][:links]
        self._numbers = count()
        self._seen.remember((candidate.address for candidate in self._known), 1)

    def _add(self, numbers: range) -> None:
        """Copy known URLs in, and tell the Bloom filter of them."""
        queue = self._run.queues.get()
        urls = [f"http://a.test/directory/page-{number}.html" for number in numbers]
        copy_in(
            Url,
            [
                {
                    "run_id": self._run.pk,
                    "queue_id": queue.pk,
                    "fingerprint": fingerprint(url),
                    "url": url,
                    "depth": 1,
                    "rank": 1.0,
                    "state": UrlState.QUEUED.value,
                }
                for url in urls
            ],
        )
        for url in urls:
            self._bloom.add(url)

    def steps(self) -> Iterator[tuple[str, Callable[[], Step]]]:
        """Name of each step, and a function that prepares one round of it."""
        for order in (Order.BREADTH_FIRST, Order.BEST_FIRST):
            yield f"{order}: new links", lambda of=order: self._schedule(of, self._new())  # type: ignore[misc]
            yield f"{order}: known links", lambda of=order: self._schedule(of, self._known)  # type: ignore[misc]
        yield (
            "best_first: lift what was seen",
            lambda: self._schedule(Order.BEST_FIRST, self._known, gain=1.0),
        )
        yield "look for what was seen", self._look
        yield (
            "the memory of a shift",
            lambda: lambda: self._seen.unseen((candidate.address for candidate in self._known), 1),
        )
        yield "a Bloom filter, seen", lambda: self._filter(self._known)
        yield "a Bloom filter, new", lambda: self._filter(self._new())

    def _new(self) -> list[Candidate]:
        return [page("new", next(self._numbers)) for _ in range(self._links)]

    def _schedule(self, order: Order, candidates: list[Candidate], gain: float = 0.0) -> Step:
        self._crawl.visit_order = order
        gains = {candidate.address.url: gain for candidate in candidates} if gain else {}

        def step() -> None:
            with transaction.atomic():
                schedule_urls(self._run, candidates, numbers=[0], gains=gains)
                transaction.set_rollback(True)

        return step

    def _look(self) -> Step:
        marks = [fingerprint(candidate.address.url) for candidate in self._known]

        def step() -> None:
            with connection.cursor() as cursor:
                cursor.execute(FIND_SEEN, [self._run.pk, marks])
                assert len(cursor.fetchall()) == len(marks)

        return step

    def _filter(self, candidates: list[Candidate]) -> Step:
        return lambda: sum(candidate.address.url in self._bloom for candidate in candidates)


def page(directory: str, number: int) -> Candidate:
    return Candidate(read_address(f"http://a.test/{directory}/page-{number}.html"), 1, 1)
