"""Fill a database of its own with as much as a large installation has, by SQL where rows are
many."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from benchmarks.dashboard.links import fill_links
from benchmarks.scene import lists

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
#: every host in the first run, and each in one of the others; in the first one URL of each waits
QUEUES = """
INSERT INTO crawling_hostqueue (run_id, host_id, process_number, queued, done)
SELECT (%(runs)s::bigint[])[1], id, id %% 10, 1, 60 FROM crawling_host UNION ALL
SELECT (%(runs)s::bigint[])[2 + id %% (cardinality(%(runs)s::bigint[]) - 1)], id, id %% 10, 40, 60
FROM crawling_host
ON CONFLICT DO NOTHING
"""
PLACES = """
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
SELECT id, run_id, status, url, 'text/html', 'utf-8',
    'Article ' || fingerprint || ' of ' || substr(md5(fingerprint::text), 1, 6), 20000, fingerprint,
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
SLICE = 50_000


@dataclass(frozen=True)
class Size:
    """How much there is to be; `live` crawls have ten processes each in the pool, and `rows` is
    what every other list has.
    """

    crawls: int
    live: int
    pages: int
    hosts: int
    rows: int
    links: int


@dataclass(frozen=True)
class Filled:
    """crawl: one that waits, with half of the pages.

    twice: one that has had two runs, with a tenth of the pages each. often: one that has had many.
    pool: one whose ledger is long."""

    crawl: int
    twice: int
    often: int
    pool: int


def fill(size: Size) -> Filled:
    """Make it all."""
    from django.db import connection

    from allocation.services.use import KEPT
    from crawling.frontier.run_counts import total_minutes

    live = _live_crawls(size.live)
    runs = [run.pk for run in live]
    part_of_all = _part_without_links(runs[0])
    with connection.cursor() as cursor:
        cursor.execute(HOSTS, {"hosts": size.hosts})
        cursor.execute(CRAWLS, {"crawls": size.crawls})
        for statement in (RUNS, OLD_COUNTS):
            cursor.execute("ANALYZE")  # or each row may be looked for among all those before it
            cursor.execute(statement, {})
        for statement in (QUEUES, *PLACES.split(";")):
            cursor.execute(statement, {"runs": runs})
        for first in range(1, size.pages + 1, SLICE):
            part: dict[str, Any] = {
                "first": first,
                "last": min(first + SLICE - 1, size.pages),
                "runs": runs,
                "part": part_of_all,
            }
            cursor.execute(URLS, part)
            cursor.execute(PAGES, part)
        cursor.execute(WAITING_URLS, {"run": runs[0]})
        cursor.execute(MINUTES, {"runs": runs, "minutes": 24 * 60})
        cursor.execute(TOTALS)
        total_minutes()
        twice, often = lists.fill(cursor, run=live[0], pages=size.pages // 10, rows=size.rows)
        pool = lists.long_ledger(size.rows)
        cursor.execute(lists.USE, {"minutes": KEPT // timedelta(minutes=1)})
        cursor.execute("VACUUM ANALYZE")
    fill_links(runs[0], size.links)
    return Filled(live[0].crawl_id, twice, often, pool)


def _part_without_links(run_id: int) -> int:
    """The id of a part that is written, for all pages to name."""
    from django.utils import timezone

    from crawling.datasets.parts import new_part

    part = new_part(run_id, None)
    part.collected_at = part.written_at = timezone.now()
    part.save()
    return part.pk


def _live_crawls(count: int) -> list[Any]:
    """Crawls as an operator makes and starts them: some hold, and the others wait for resources."""
    from crawling.models import AllowedNetwork, CrawlJob, Run
    from crawling.models.jobs import ENDED_STATES
    from crawling.runs.crawls.creation import create_crawl
    from crawling.runs.start import start_run

    AllowedNetwork.objects.get_or_create(network="127.0.0.0/8", port_from=1024, port_to=65535)
    for number in range(count):
        name = f"Live crawl {number}"
        if not CrawlJob.objects.filter(name=name).exists():
            seeds = [f"http://127.0.{number}.{one}:8900/" for one in range(1, 11)]
            start_run(
                create_crawl(
                    {
                        "name": name,
                        "seeds": seeds,
                        "delay_seconds": 1,
                        "processes": 10,
                        "max_pages": 20_000,
                    }
                )
            )
    Run.objects.filter(crawl__name__startswith="Live crawl", state="queued").update(
        started_at="2026-01-01T00:00Z"
    )
    return list(
        Run.objects.exclude(state__in=ENDED_STATES)
        .filter(crawl__name__startswith="Live crawl")
        .order_by("pk")
    )
