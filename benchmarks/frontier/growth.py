"""What the frontier of a run costs as it grows: `python -m benchmarks.frontier.growth [--most
10000000] [--remove]`

At each power of ten the product's own functions lease hosts, claim their URLs, record an answer
with ten links for each, and look whether links were seen; in transactions that are committed, of
URLs and hosts by chance, so that what they read is not at hand already. Told are medians of
fifteen rounds. Of the URLs between, which are copied in, six tenths have a page. Then follow the
sizes of tables and indexes, how often each index was read, and, with --remove, how long the run's
deletion takes.

It makes a database of its own on the server that DATABASE_URL names, and drops it at the end.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from statistics import median

from django.db import connection

from benchmarks.report import Table, options
from benchmarks.scene.database import empty_database, execute, query_rows
from benchmarks.timer import timed
from crawling.frontier import (
    Candidate,
    ClaimedUrl,
    RecordingState,
    ServerAnswer,
    UrlOutcome,
    claim_urls,
    lease_hosts,
    locked_run,
    schedule_urls,
)
from crawling.frontier.record.outcome_writer import record_batch
from crawling.frontier.released_hosts import ReturnedHost, release_hosts
from crawling.frontier.sql_rows import add_hosts, insert_rows
from crawling.models import CrawlJob, HostQueue, Page, Run, RunProcess, Shift, Url, UrlState
from crawling.models.jobs import RunState
from crawling.runs.housekeeping.run_removal import remove_rows, request_removal
from crawling.web.addresses import fingerprint, read_address
from crawling.web.content.text_facts import TextFacts

FIRST, ROUNDS = 10_000, 15
#: the number of a host's URLs
PER_HOST = 100
COPIED = 50_000
#: in a round, the number of hosts, of URLs of each, of links of each page, of new links among them,
#: and of links that were seen
HOSTS, URLS, LINKS, NEW, SEEN = 32, 4, 10, 3, 2_000
#: a link is as deep as any URL, so no known URL comes nearer by it, as in a breadth-first crawl
DEEPEST = 9
#: the number of URLs in ten that have a page
DONE = 6
#: the text of all copies of a page, next to their number
ABSTRACT = "Some words with which a page of usual length begins, as its abstract has them. " * 3

IDS = "SELECT nextval('crawling_url_id_seq') FROM generate_series(1, %s)"
ADD_QUEUES = """
INSERT INTO crawling_hostqueue (run_id, host_id, process_number, domain)
SELECT %s, id, 0, name FROM crawling_host WHERE name = ANY(%s)
"""
COUNT_QUEUES = """
UPDATE crawling_hostqueue q SET queued = found.queued, done = found.done
FROM (SELECT queue_id, count(*) FILTER (WHERE state = 'q') AS queued,
        count(*) FILTER (WHERE state = 's') AS done
    FROM crawling_url WHERE run_id = %s GROUP BY queue_id) found
WHERE q.id = found.queue_id
"""
SHUFFLE_QUEUES = """
UPDATE crawling_hostqueue SET due_at = now() - random() * interval '1 hour' WHERE run_id = %s
"""
VACUUM = "VACUUM ANALYZE crawling_url, crawling_page, crawling_hostqueue, crawling_host"
SIZES = """
SELECT c.relname, c.relkind = 'i', pg_relation_size(c.oid), coalesce(i.idx_scan, t.seq_scan, 0)
FROM pg_class c
LEFT JOIN pg_stat_user_indexes i ON i.indexrelid = c.oid
LEFT JOIN pg_stat_user_tables t ON t.relid = c.oid
LEFT JOIN pg_index x ON x.indexrelid = c.oid
WHERE coalesce(x.indrelid, c.oid)
    IN ('crawling_url'::regclass, 'crawling_page'::regclass, 'crawling_hostqueue'::regclass)
ORDER BY coalesce(x.indrelid, c.oid), c.relkind DESC, 3 DESC
"""
CHANCE = random.Random(1)  # noqa: S311  # a benchmark's


def main() -> None:
    asked = options(__doc__, most=1_000_000, remove=False)
    with empty_database():
        measure(asked.most, is_removed=asked.remove)


def measure(most: int, *, is_removed: bool) -> None:
    """Print a line for each power of ten, and the sizes at the end."""
    frontier, size = GrownFrontier(), FIRST
    names = ("lease", "claim", "record", "seen", "grown s")
    table = Table("URLs", *names, "µs a host, URL, page, link")
    while size <= most:
        with timed() as taken:
            frontier.grow(size)
        table.row(size, *(1e6 * cost for cost in frontier.costs()), taken.clock, "")
        size *= 10
    print_sizes(frontier.urls)
    if is_removed:
        print(f"removed in {frontier.remove():.0f} s")


class GrownFrontier:
    """A run whose URLs are numbered from 0. The numbers tell which of them have a page."""

    def __init__(self) -> None:
        crawl = CrawlJob.objects.create(
            name="benchmark of growth", seeds=[], delay_seconds=0, batch_size=100, claim={}
        )
        self.run = Run.objects.create(crawl=crawl, number=1, state="running")
        process = RunProcess.objects.create(run=self.run, number=0)
        self.shift = Shift.objects.create(process=process, epoch=1, worker="benchmark")
        self.urls = self.new = 0
        self.hosts: list[str] = []
        self.queues: dict[str, int] = {}

    def grow(self, urls: int) -> None:
        """Copy in missing URLs, and do the work that autovacuum would have done in a crawl of
        hours.
        """

        hosts = urls // PER_HOST
        missing = sorted(f"h{n}.test" for n in range(len(self.hosts), hosts))
        with connection.cursor() as cursor:
            add_hosts(cursor, missing)
        execute(ADD_QUEUES, given=[self.run.pk, missing])
        self.hosts = [f"h{n}.test" for n in range(hosts)]
        self.queues = dict(HostQueue.objects.filter(run=self.run).values_list("host__name", "pk"))
        for begin in range(self.urls, urls, COPIED):
            self._copy(range(begin, min(urls, begin + COPIED)))
        self.urls = urls
        execute(COUNT_QUEUES, SHUFFLE_QUEUES, given=[self.run.pk])
        execute(VACUUM)

    def _copy(self, numbers: range) -> None:
        ids = query_rows(IDS, given=[len(numbers)])
        urls = [
            (key, number, self.url(number)) for (key,), number in zip(ids, numbers, strict=True)
        ]
        insert_rows(Url, [self._url_row(*one, fingerprint(one[2])) for one in urls])
        insert_rows(Page, [self._page_row(*one) for one in urls if is_done(one[1])])

    def url(self, number: int) -> str:
        host = self.hosts[number // PER_HOST]
        return f"http://{host}/section-{number % 97}/an-article-of-usual-length-{number}.html"

    def _url_row(self, key: int, number: int, url: str, mark: int) -> dict[str, object]:
        return {
            "id": key,
            "run_id": self.run.pk,
            "queue_id": self.queues[url.split("/")[2]],
            "fingerprint": mark,
            "url": url,
            "depth": 1 + number % DEEPEST,
            "rank": float(1 + number % DEEPEST),
            "via": key - 1,
            "state": "s" if is_done(number) else "q",
            "status": 200 if is_done(number) else None,
        }

    def _page_row(self, key: int, number: int, url: str) -> dict[str, object]:
        return {
            "url_id": key,
            "run_id": self.run.pk,
            "status": 200,
            "final_url": url,
            "content_type": "text/html",
            "charset": "utf-8",
            "title": f"An article of usual length {number}",
            "bytes": 14_000,
            "fingerprint": number * 0x9E3779B97F4A7C15 % 2**63,
            "digest": sha256(url.encode()).digest(),
            "simhash": number * 0xD1342543DE82EF95 % 2**63,
            "abstract": ABSTRACT,
            "language": "en",
            "links": LINKS,
            "address": "192.0.2.1",
            "fetch_seconds": 0.1,
            "fetched_at": datetime.now(UTC),
        }

    def costs(self) -> Iterator[float]:
        """Seconds for leasing a host, claiming a URL, recording a page, and looking up a link."""
        rounds = [self._round(RecordingState()) for _ in range(ROUNDS)]
        yield from map(median, zip(*rounds, strict=True))

    def _round(self, memory: RecordingState) -> tuple[float, ...]:
        with timed() as leasing:
            hosts = lease_hosts(
                self.shift, limit=HOSTS, soon_seconds=0.0, delay_seconds=0.0, lease_seconds=600.0
            )
        assert len(hosts) == HOSTS
        with timed() as claiming:
            claimed = claim_urls(self.shift, {host.queue_id: URLS for host in hosts})
        urls = [url for some in claimed.values() for url in some]
        outcomes = [self._outcome(url) for url in urls]
        with timed() as recording:
            assert len(record_batch(self.shift, outcomes, numbers=[0], memory=memory)) == len(urls)
        known = [candidate(self._some_url()) for _ in range(SEEN)]
        with timed() as looking, locked_run(self.run.pk) as run:
            assert not schedule_urls(run, known, numbers=[0]).new
        release_hosts(self.shift, [ReturnedHost(host.host_id, 0.0, 0.0) for host in hosts])
        parts = (leasing, HOSTS), (claiming, len(urls)), (recording, len(urls)), (looking, SEEN)
        return tuple(taken.clock / count for taken, count in parts)

    def _some_url(self) -> str:
        return self.url(CHANCE.randrange(self.urls))

    def _outcome(self, claimed: ClaimedUrl) -> UrlOutcome:
        host = CHANCE.choice(self.hosts)
        self.new += NEW
        new = [f"http://{host}/new/{self.new - n}.html" for n in range(NEW)]
        links = [*new, *(self._some_url() for _ in range(LINKS - NEW))]
        text = TextFacts(f"{ABSTRACT}{CHANCE.randbytes(40).hex()}")
        text.compute()  # as before a batch is recorded
        answer = ServerAnswer(
            status=200,
            final_url=claimed.url,
            content_type="text/html",
            bytes=14_000,
            fingerprint=CHANCE.getrandbits(63),
            address="192.0.2.1",
            fetch_seconds=0.1,
            fetched_at=datetime.now(UTC),
            digest=CHANCE.randbytes(32),
            text=text,
        )
        found = [candidate(link, claimed.id) for link in links]
        return UrlOutcome(claimed.id, UrlState.SUCCEEDED, 200, answer=answer, links=found)

    def remove(self) -> float:
        """Seconds until the run's rows are removed. The scheduler spends half of its time on
        that.
        """
        self.run.state = RunState.STOPPED
        self.run.save()
        self.shift.ended_at = datetime.now(UTC)
        self.shift.save()
        request_removal(self.run, by=None, for_good=True)
        with timed() as taken:
            while not remove_rows():
                pass
        return taken.clock


def is_done(number: int) -> bool:
    return number % 10 < DONE


def candidate(url: str, via: int | None = None) -> Candidate:
    return Candidate(read_address(url), DEEPEST, via)


def print_sizes(urls: int) -> None:
    """Print the bytes of each table and index for each URL, and how often it was read."""
    found = query_rows(SIZES)
    table = Table("MB", "bytes a URL", "read", "table or index")
    for name, is_index, size, reads in found:
        table.row(size / 1e6, size / urls, reads, f"{'  ' * is_index}{name}")
    total = sum(size for _, _, size, _ in found)
    table.row(total / 1e6, total / urls, "", "all")


if __name__ == "__main__":
    main()
