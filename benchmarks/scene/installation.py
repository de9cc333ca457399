"""The data of a large installation. If there are many rows, SQL makes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from allocation.services.use import KEPT
from benchmarks.scene import lists
from benchmarks.scene.crawls import allow_loopback
from benchmarks.scene.database import execute
from benchmarks.scene.links import fill_links, written_part
from benchmarks.scene.long_ledger import long_ledger
from crawling.frontier.run_counts import total_minutes
from crawling.models import Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run

HOSTS = """
INSERT INTO crawling_host (name, delay_seconds)
SELECT 'www' || n || '.site' || n %% 997 || '.example', 1
FROM generate_series(1, %(hosts)s) n ON CONFLICT DO NOTHING
"""
CRAWLS = """
INSERT INTO crawling_crawljob (name, seeds, scope, visit_order, delay_seconds, processes,
    batch_size, archive, obey_nofollow, requisites, extract, fetching, ordering, filters, budget,
        politeness, reuse, retention, claim, tags, created_at, idempotency_key,
    idempotency_digest, thresholds)
SELECT 'Old crawl ' || n, ARRAY['https://www' || n %% 997 || '.site' || n || '.example/'], 'host',
    'breadth_first', 1, 1, 100, true, false, false, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
        '{}', ARRAY['team ' || n %% 7],
    now() - make_interval(mins => %(crawls)s - n), '', '', '{}'
FROM generate_series(1, %(crawls)s) n ON CONFLICT DO NOTHING
"""
RUNS = """
INSERT INTO crawling_run (crawl_id, number, is_latest, state, reason, trouble, judged_by,
    created_at, started_at, finished_at)
SELECT id, 1, true, CASE WHEN id %% 50 = 0 THEN 'failed' WHEN id %% 9 = 0 THEN 'stopped'
    ELSE 'finished' END, 'Every URL in scope is done.', '', '', created_at, created_at,
        created_at + interval '40 minutes'
FROM crawling_crawljob c WHERE starts_with(c.name, 'Old crawl ')
    AND NOT EXISTS (SELECT FROM crawling_run r WHERE r.crawl_id = c.id)
"""
OLD_COUNTS = """
INSERT INTO crawling_runcount (run_id, process_number, minute, discovered, fetched, succeeded,
    failed, bytes)
SELECT id, 0, date_trunc('minute', started_at), id %% 5000, id %% 4000, id %% 3900, id %% 40,
    id %% 4000 * 20000::bigint
FROM crawling_run WHERE state IN ('finished', 'stopped', 'failed') ON CONFLICT DO NOTHING
"""
#: every host is in the first run, and each in one of the others; in the first run one URL of each
#: waits
QUEUES = """
INSERT INTO crawling_hostqueue (run_id, host_id, process_number, queued, done)
SELECT (%(runs)s::bigint[])[1], id, id %% 10, 1, 60 FROM crawling_host UNION ALL
SELECT (%(runs)s::bigint[])[2 + id %% (cardinality(%(runs)s::bigint[]) - 1)], id, id %% 10, 40, 60
FROM crawling_host
ON CONFLICT DO NOTHING
"""
PLACES = """
DROP TABLE IF EXISTS place;
CREATE TEMPORARY TABLE place AS
SELECT row_number() OVER (ORDER BY q.id) - 1 AS place, q.id AS queue_id, q.run_id, h.name,
    count(*) OVER () AS places
FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id WHERE q.run_id = ANY(%(runs)s);
CREATE UNIQUE INDEX ON place (place); ANALYZE place
"""
URLS = """
INSERT INTO crawling_url (run_id, queue_id, fingerprint, url, depth, rank, state, status)
SELECT run_id, queue_id, n, 'https://' || name || '/section-' || n %% 31 || '/an-article-about-' ||
    md5(n::text), 3, n,
    CASE WHEN n %% 25 = 0 THEN 'f' ELSE 's' END, CASE WHEN n %% 25 = 0 THEN 404 ELSE 200 END
FROM generate_series(%(first)s::int, %(last)s) n
JOIN place ON place = n %% (SELECT max(places) FROM place) ON CONFLICT DO NOTHING
"""
WAITING_URLS = """
INSERT INTO crawling_url (run_id, queue_id, fingerprint, url, depth, rank, state)
SELECT run_id, queue_id, -1 - place, 'https://' || name || '/waiting-' || md5(place::text), 4,
    place, 'q'
FROM place WHERE run_id = %(run)s ON CONFLICT DO NOTHING
"""
PAGES = """
INSERT INTO crawling_page (url_id, run_id, status, final_url, content_type, charset, title, bytes,
    fingerprint, digest, address, fetch_seconds, fetched_at, links_part)
SELECT id, run_id, status, url, CASE WHEN fingerprint %% 1000 = 7 THEN 'application/pdf'
        WHEN fingerprint %% 10 = 3 THEN 'image/png' ELSE 'text/html' END, 'utf-8',
    'Article ' || fingerprint || ' of ' || substr(md5(fingerprint::text), 1, 6),
    20000 + fingerprint %% 9973, fingerprint,
        sha256(fingerprint::text::bytea), '192.0.2.1', 0.2,
        now() - make_interval(secs => fingerprint %% 86400), %(part)s
FROM crawling_url WHERE run_id = ANY(%(runs)s)
    AND fingerprint BETWEEN %(first)s AND %(last)s ON CONFLICT DO NOTHING
"""
MINUTES = """
INSERT INTO crawling_runcount (run_id, process_number, minute, discovered, fetched, succeeded,
    failed, bytes)
SELECT r, p, date_trunc('minute', now()) - make_interval(mins => m), 30, 20 + (m + p) %% 9, 19, 1,
    400000
FROM unnest(%(runs)s::bigint[]) r, generate_series(0, 9) p, generate_series(0, %(minutes)s) m
ON CONFLICT DO NOTHING
"""
TOTALS = """
INSERT INTO crawling_runtotal (run_id, discovered, fetched, succeeded, failed, bytes)
SELECT run_id, sum(discovered), sum(fetched), sum(succeeded), sum(failed), sum(bytes)
FROM crawling_runcount GROUP BY 1
ON CONFLICT (run_id) DO UPDATE SET discovered = excluded.discovered, fetched = excluded.fetched,
    bytes = excluded.bytes
"""
#: the use of every pool, for the whole time for which it is kept
USE = """
INSERT INTO allocation_useminute (pool_id, minute, samples, used)
SELECT id, date_trunc('minute', now()) - make_interval(mins => n), 6,
    ARRAY(SELECT units * (n %% 6) / 2 FROM unnest(capacity) units)
FROM allocation_pool, generate_series(0, %(minutes)s) n
"""
SLICE = 50_000


@dataclass(frozen=True)
class Size:
    """The size of the installation."""

    crawls: int
    #: the number of crawls with ten processes each in the pool
    live: int
    pages: int
    hosts: int
    #: the number of rows of every other list
    rows: int
    links: int


@dataclass(frozen=True)
class Filled:
    """The ids of crawls and a pool."""

    #: a waiting crawl with half of the pages
    crawl: int
    #: a crawl with two runs, each with a tenth of the pages
    twice: int
    #: a crawl with many runs
    often: int
    #: a pool with a long ledger
    pool: int


def fill(size: Size) -> Filled:
    """Create the installation."""
    live = _live_crawls(size.live)
    keys = [run.pk for run in live]
    runs = {"runs": keys, "run": keys[0]}
    part = written_part(live[0].pk)
    part.save()
    add_hosts(size.hosts)
    execute(CRAWLS, given={"crawls": size.crawls})
    for statement in (RUNS, OLD_COUNTS):
        execute("ANALYZE")  # otherwise each row might be searched for among all earlier rows
        execute(statement, given={})
    execute(QUEUES, given=runs)
    number_places(keys)
    for numbers in slices(size.pages):
        execute(URLS, PAGES, given={**numbers, **runs, "part": part.pk})
    execute(WAITING_URLS, MINUTES, given={**runs, "minutes": 24 * 60})
    execute(TOTALS)
    total_minutes()
    twice, often = lists.fill(run=live[0], pages=size.pages // 10, rows=size.rows)
    pool = long_ledger(size.rows)
    execute(USE, given={"minutes": KEPT // timedelta(minutes=1)})
    execute("VACUUM ANALYZE")
    fill_links(live[0].pk, size.links)
    return Filled(live[0].crawl_id, twice, often, pool)


def run_of_pages(pages: int) -> Run:
    """A crawl with many pages on few hosts, and few other rows."""
    size = Size(crawls=20, live=2, pages=2 * pages, hosts=500, rows=100, links=0)
    return Run.objects.get(crawl=fill(size).crawl, is_latest=True)


def add_hosts(count: int) -> None:
    execute(HOSTS, given={"hosts": count})


def number_places(runs: Sequence[int]) -> None:
    """Create the table `place`: the queues of these runs with the names of their hosts."""
    execute(*PLACES.split(";"), given={"runs": list(runs)})


def slices(count: int) -> Iterator[dict[str, int]]:
    """The first and the last number of each part of a size."""
    for first in range(1, count + 1, SLICE):
        yield {"first": first, "last": min(first + SLICE - 1, count)}


def _live_crawls(count: int) -> list[Run]:
    """Crawls that are created and started as an operator does it: some hold units, and the others
    wait for resources.
    """
    allow_loopback()
    order = {"delay_seconds": 1, "processes": 10, "max_pages": 20_000}
    for number in range(count):
        seeds = [f"http://127.0.{number}.{one}:8900/" for one in range(1, 11)]
        start_run(create_crawl({"name": f"Live crawl {number}", "seeds": seeds, **order}))
    live = Run.objects.filter(crawl__name__startswith="Live crawl")
    live.filter(state="queued").update(started_at="2026-01-01T00:00Z")
    return list(live.exclude(state__in=ENDED_STATES).order_by("pk"))
