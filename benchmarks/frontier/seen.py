"""What it costs to ask whether a URL was seen, and whether a Bloom filter in front of the question would pay (decision 19).

    python -m benchmarks.frontier.seen [urls]

Needs DATABASE_URL, of a database of its own that is migrated; what it writes is rolled back. Times are the least of fifteen
rounds, which what else the machine does disturbs least.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import django
from django.conf import settings

import crawlsite.settings

LINKS, RUNS = 2_000, 15


def main(urls: int) -> None:
    from django.db import connection, transaction

    from benchmarks.frontier.bloom import Bloom
    from crawling.frontier.seen import Seen
    from crawling.frontier.sowing import FIND_SEEN, Candidate, sow
    from crawling.models import CrawlJob, Run
    from crawling.rules.addresses import fingerprint, read_address

    with transaction.atomic():
        crawl = CrawlJob.objects.create(name="benchmark of seen", seeds=[], delay_seconds=0, batch_size=100, claim={})
        run = Run.objects.create(crawl=crawl, number=1)
        known = [Candidate(read_address(f"http://a.test/directory/page-{number}.html"), 1, 1) for number in range(urls)]
        for start in range(0, urls, LINKS):
            sow(run, known[start : start + LINKS], numbers=[0])
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE crawling_url")
        again = known[:: max(1, urls // LINKS)][:LINKS]
        run.crawl = crawl
        new = [Candidate(read_address(f"http://a.test/new/page-{number}.html"), 1, 1) for number in range(LINKS)]
        marks = [fingerprint(candidate.address.url) for candidate in again]
        bloom, seen = Bloom(urls, 16), Seen()
        for candidate in known:
            bloom.add(candidate.address.url)
        seen.unseen((candidate.address for candidate in again), 1)

        def find() -> None:
            with connection.cursor() as cursor:
                cursor.execute(FIND_SEEN, [run.pk, marks])
                assert len(cursor.fetchall()) == len(marks)

        def in_savepoint(candidates: list[Candidate], gain: float = 0.0) -> None:
            point = transaction.savepoint()
            sow(run, candidates, numbers=[0], gains={candidate.address.url: gain for candidate in candidates} if gain else {})
            transaction.savepoint_rollback(point)

        for order in ("breadth_first", "best_first"):
            crawl.visit_order = order
            tell(f"{order}: sow what is new", lambda: in_savepoint(new))
            tell(f"{order}: sow what was seen", lambda: in_savepoint(again))
        tell("best_first: lift what was seen", lambda: in_savepoint(again, 1.0))
        tell("ask for what was seen", find)
        tell("the exact memory of a shift", lambda: seen.unseen((candidate.address for candidate in again), 1))
        tell("a Bloom filter, seen", lambda: all(candidate.address.url in bloom for candidate in again))
        tell("a Bloom filter, new", lambda: sum(candidate.address.url in bloom for candidate in new))
        transaction.set_rollback(True)


def tell(what: str, work: Callable[[], object]) -> None:
    taken = []
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    print(f"{what:34} {min(taken) / LINKS * 1e6:8.2f} µs a link")


if __name__ == "__main__":
    settings.configure(**{name: getattr(crawlsite.settings, name) for name in dir(crawlsite.settings) if name.isupper()})
    django.setup()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
