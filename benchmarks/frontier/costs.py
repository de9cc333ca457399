"""What the frontier's questions cost: whether a URL was seen, and whether a Bloom filter in front
would pay (decision 19); whether the archive has a payload already (decision 77); leases of hosts,
and turns at an address (decision 29).

    python -m benchmarks.frontier.costs [--urls 100000] [--runs 20] [--hosts 10000]

urls: that a run knows; as many pages are in so many runs. hosts: of a shift. Needs DATABASE_URL, of
a database of its own that is migrated; what it writes is rolled back. Times are the least of
fifteen rounds, which what else the machine does disturbs least.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import count
from math import ceil, exp, log
from pathlib import Path

from django.conf import settings
from django.db import transaction
from xxhash import xxh3_128_intdigest

from benchmarks.report import Table, options
from benchmarks.scene.database import execute
from benchmarks.timer import Step, Taken, chosen_figures, timed
from crawling.archive.originals import Originals
from crawling.frontier import Candidate, lease_hosts, locked_run, schedule_urls
from crawling.frontier.address_clock import take_turn
from crawling.frontier.admit.schedule import FIND_SEEN
from crawling.frontier.admit.seen_urls import SeenUrls
from crawling.frontier.leases import count_waiting
from crawling.frontier.sql_rows import insert_rows
from crawling.models import (
    ArchiveFile,
    CrawlJob,
    Host,
    HostQueue,
    Page,
    Run,
    RunProcess,
    Shift,
    Url,
    UrlState,
)
from crawling.orders.ranking import Order
from crawling.web.addresses import fingerprint, read_address

ROUNDS, LINKS = 15, 2_000
#: the number of URLs that are copied in at a time
COPIED = 20_000
#: the number of payloads that are looked up at a time, which a shift with eight threads has in a
#: moment, and their size
BATCH, SIZE = 40, 20_000
#: the number of hosts that a shift of eight fetch threads leases when it begins, and when hosts
#: leave it one by one
AT_A_TIME, A_HANDFUL = 160, 8
URLS = """
INSERT INTO crawling_url (run_id, queue_id, url, fingerprint, state, depth, rank)
SELECT %(run)s, %(queue)s, 'http://bench.test/' || n, n, 's', 0, n
FROM generate_series(1, %(pages)s) n
"""
PAGES = """
INSERT INTO crawling_page (url_id, run_id, status, final_url, content_type, charset, title, bytes,
    fingerprint, address, fetch_seconds, fetched_at, archive_file_id, archive_offset,
    archive_length, payload_sha256)
SELECT id, run_id, 200, url, '', '', '', %(size)s, hashint8extended(id, 7), '127.0.0.1', 0, now(),
    %(file)s, 0, 1, sha256(int8send(id))
FROM crawling_url WHERE run_id = %(run)s
"""
#: the name of a step, the number of items in it, and a function that prepares a round of it
Part = tuple[str, int, Callable[[], Step]]


def main() -> None:
    asked = options(__doc__, urls=100_000, runs=20, hosts=10_000)
    table = Table("µs each", "at a time", "what")
    with tempfile.TemporaryDirectory() as folder:
        settings.ARCHIVE_DIR = folder
        for parts in (
            KnownUrls(asked.urls).parts,
            partial(payloads, asked.urls // asked.runs, asked.runs),
            partial(turns, asked.hosts),
        ):
            with transaction.atomic():
                for name, things, prepare in parts():
                    least = chosen_figures(min, undone(prepare))
                    table.row(1e6 * least.clock / things, things, name)
                transaction.set_rollback(True)


def undone(prepare: Callable[[], Step]) -> Iterator[Taken]:
    """Rounds, each in a transaction that is rolled back."""
    for _ in range(ROUNDS):
        step = prepare()
        with transaction.atomic():
            with timed() as taken:
                step()
            transaction.set_rollback(True)
        yield taken


def new_run(name: str, *, delay: float = 0, state: str = "queued") -> Run:
    order = {"seeds": [], "delay_seconds": delay, "batch_size": 100, "claim": {}}
    crawl = CrawlJob.objects.create(name=name, **order)
    return Run.objects.create(crawl=crawl, number=1, state=state)


def best_hashes(bits_per_item: float) -> int:
    """The number of hashes with the fewest false positives, rounded up as in B7's table."""
    return max(1, ceil(bits_per_item * log(2)))


def false_positives(bits_per_item: float, hashes: int) -> float:
    """The share of new items that a full filter reports as seen."""
    return float((1 - exp(-hashes / bits_per_item)) ** hashes)


class Bloom:
    """A filter with space for a number of items, with a number of bits for each (SEEDS B7). It may
    report an item as seen that was never added, so a page's fate must never depend on it alone.
    """

    def __init__(self, items: int, bits_per_item: int) -> None:
        self._size = items * bits_per_item
        self._hashes = best_hashes(bits_per_item)
        self._bits = bytearray((self._size + 7) // 8)

    def __contains__(self, item: str) -> bool:
        return all(self._bits[place >> 3] >> (place & 7) & 1 for place in self._places(item))

    def add(self, item: str) -> None:
        for place in self._places(item):
            self._bits[place >> 3] |= 1 << (place & 7)

    def _places(self, item: str) -> Iterator[int]:
        """The places of an item's bits. Two hashes give all the others (Kirsch and
        Mitzenmacher).
        """
        second, first = divmod(xxh3_128_intdigest(item.encode()), 1 << 64)
        size = self._size
        return ((first + number * second) % size for number in range(self._hashes))


class KnownUrls:
    """A run that knows URLs, with operations on links to known and to new URLs."""

    def __init__(self, urls: int) -> None:
        self._urls, self._seen, self._bloom = urls, SeenUrls(), Bloom(urls, 16)
        step = max(1, urls // LINKS)
        self._known = [page("directory", number) for number in range(step, urls, step)][:LINKS]
        self._numbers = count()

    def parts(self) -> Iterator[Part]:
        self._run = new_run("benchmark of seen")
        schedule_urls(self._run, [page("directory", 0)], numbers=[0])
        for start in range(1, self._urls, COPIED):
            self._copy_known_urls(range(start, min(self._urls, start + COPIED)))
        execute("ANALYZE crawling_url")
        addresses = [candidate.address for candidate in self._known]
        self._seen.remember(addresses, 1)
        known, of = len(self._known), self._schedule
        for order in (Order.BREADTH_FIRST, Order.BEST_FIRST):
            yield f"{order}: new links", LINKS, partial(self._schedule_new, order)
            yield f"{order}: known links", known, partial(of, order, self._known)
        yield (
            "best_first: lift what was seen",
            known,
            lambda: of(Order.BEST_FIRST, self._known, gain=1.0),
        )
        marks = [fingerprint(address.url) for address in addresses]
        look = partial(execute, FIND_SEEN, given=[self._run.pk, marks])
        yield "look for what was seen", known, lambda: look
        yield (
            "the memory of a shift",
            known,
            lambda: lambda: self._seen.unseen_addresses(addresses, 1),
        )
        yield "a Bloom filter, seen", known, lambda: self._filter(self._known)
        yield "a Bloom filter, new", LINKS, lambda: self._filter(self._new_links())

    def _copy_known_urls(self, numbers: range) -> None:
        """Copy known URLs in, and add them to the Bloom filter."""
        common = {
            **{"run_id": self._run.pk, "queue_id": self._run.queues.get().pk},
            **{"depth": 1, "rank": 1.0, "state": UrlState.QUEUED.value},
        }
        urls = [page("directory", number).address.url for number in numbers]
        insert_rows(Url, [{**common, "fingerprint": fingerprint(url), "url": url} for url in urls])
        for url in urls:
            self._bloom.add(url)

    def _new_links(self) -> list[Candidate]:
        return [page("new", next(self._numbers)) for _ in range(LINKS)]

    def _schedule_new(self, order: Order) -> Step:
        return self._schedule(order, self._new_links())

    def _schedule(self, order: Order, candidates: Sequence[Candidate], gain: float = 0.0) -> Step:
        self._run.crawl.visit_order = order
        gains = {candidate.address.url: gain for candidate in candidates} if gain else {}
        return lambda: schedule_urls(self._run, candidates, numbers=[0], gains=gains)

    def _filter(self, candidates: Sequence[Candidate]) -> Step:
        return lambda: sum(candidate.address.url in self._bloom for candidate in candidates)


def page(directory: str, number: int) -> Candidate:
    return Candidate(read_address(f"http://a.test/{directory}/page-{number}.html"), 1, 1)


def payloads(pages: int, runs: int) -> Iterator[Part]:
    """Look up payloads, half of which are known."""
    facts = {"state": "finished", "is_latest": False}
    first = new_run("benchmark of payloads", state="finished")
    host = Host.objects.create(name="bench.test")
    made = [first] + [
        Run.objects.create(crawl=first.crawl, number=number, **facts)
        for number in range(2, runs + 1)
    ]
    for run in made:
        queue = HostQueue.objects.create(run=run, host=host, process_number=0)
        name = f"run{run.pk}-bench-0-00000.warc.gz"
        file = ArchiveFile.objects.create(run=run, name=name, machine="bench", slot=0)
        path = Path(settings.ARCHIVE_DIR, f"run{run.pk}", name)
        path.parent.mkdir()
        path.touch()
        given = {"run": run.pk, "queue": queue.pk, "pages": pages, "file": file.pk, "size": SIZE}
        execute(URLS, PAGES, given=given)
    execute("ANALYZE crawling_page, crawling_url")
    rows = Page.objects.order_by("fingerprint").values_list("payload_sha256", "fingerprint")
    wanted = {bytes(digest or b""): (mark, SIZE) for digest, mark in rows[: 10 * BATCH : 20]}
    wanted |= {sha256(digest).digest(): (mark + 1, SIZE) for digest, (mark, _) in wanted.items()}

    def prepare(sought: str) -> Step:
        originals = Originals(made[-1], sought=sought, is_alone=lambda: False)
        return lambda: originals.look_up(wanted)

    for sought in ("run", "crawl", "all"):
        yield f"payloads of {sought}", len(wanted), partial(prepare, sought)


def turns(hosts: int) -> Iterator[Part]:
    """Measure the leasing of hosts by a shift, and the taking of turns at an address by a fetch
    thread.
    """
    run, numbers = new_run("benchmark of turns", delay=1), count()
    process = RunProcess.objects.create(run=run, number=0)
    shift = Shift.objects.create(process=process, epoch=1, worker="benchmark")
    urls = [f"http://h{number}.test/" for number in range(hosts)]
    with locked_run(run.pk):
        schedule_urls(run, [Candidate(read_address(url), 0, None) for url in urls], numbers=[0])
    execute("ANALYZE crawling_host, crawling_hostqueue")

    def lease(most: int) -> None:
        leased = lease_hosts(
            shift, limit=most, soon_seconds=2.0, delay_seconds=1.0, lease_seconds=60.0
        )
        assert len(leased) == most

    for most in (AT_A_TIME, A_HANDFUL):
        yield f"lease {most} of {hosts:,} hosts", most, partial(partial, lease, most)
    lease(AT_A_TIME)
    waiting = partial(count_waiting, shift, most=A_HANDFUL)
    yield f"count {A_HANDFUL} that wait while {AT_A_TIME} are leased", 1, lambda: waiting
    take_turn("192.0.2.1", 0.0)
    known = partial(take_turn, "192.0.2.1", 0.0)
    yield "a turn at an address that has a clock", 1, lambda: known
    yield (
        "a turn at an address that has none yet",
        1,
        lambda: lambda: take_turn(f"2001:db8::{next(numbers):x}", 1.0),
    )


if __name__ == "__main__":
    main()
