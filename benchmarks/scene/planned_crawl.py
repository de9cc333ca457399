"""A crawl with a budget of visits, whose runs have many pages, some of them copies."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from benchmarks.scene.crawls import allow_loopback
from benchmarks.scene.database import tell
from benchmarks.scene.installation import add_hosts, number_places, slices
from crawling.models import CrawlJob, Run
from crawling.runs.crawls.creation import create_crawl

#: a queue of each host
QUEUES = """
INSERT INTO crawling_hostqueue (run_id, host_id, process_number, queued, done)
SELECT %(run)s, id, 0, 0, 50 FROM crawling_host
"""
#: Pages with the same `content` are copies. With each run some pages change: of nine one in each
#: run, one in every second, and so on.
PAGES = """
WITH made AS (
    INSERT INTO crawling_url (run_id, queue_id, fingerprint, url, depth, rank, state, status)
    SELECT run_id, queue_id, ('x' || md5(n::text))::bit(64)::bigint,
        'https://' || name || '/section-' || n %% 31 || '/an-article-about-' || md5(n::text),
        CASE n WHEN 1 THEN 0 ELSE 3 END, n,
        's', 200
    FROM generate_series(%(first)s::int, %(last)s) n
    JOIN place ON place = n %% (SELECT max(places) FROM place)
    RETURNING id, url, rank::int AS n
)
INSERT INTO crawling_page (url_id, run_id, status, final_url, content_type, charset, title, bytes,
    fingerprint, digest, simhash, address, fetch_seconds, fetched_at, reused_from)
SELECT id, %(run)s, 200, url, 'text/html', 'utf-8', 'Article ' || n, 20000, content,
    sha256((content || ' ' || version || ' ' || kind)::bytea),
    ('x' || md5(content || ' of ' || version))::bit(64)::bigint # (kind > 0)::int,
    '192.0.2.1', 0.2, %(began)s::timestamptz + make_interval(secs => n %% 36000),
    CASE WHEN %(number)s > 1 AND (n / 7 + %(number)s) %% 10 > 0 THEN 0 END
FROM made, LATERAL (SELECT CASE WHEN n %% 20 < 4 THEN n / 20 * 20 ELSE n END AS content,
        CASE WHEN n %% 20 IN (2, 3) THEN n %% 20 ELSE 0 END AS kind) one,
    LATERAL (SELECT %(number)s / (1 + content %% 9) AS version) two
"""


def planned_crawl(pages: int, runs: int, hosts: int) -> CrawlJob:
    """Its runs are a day apart. Each has all pages; the first visits all of them, the others one of
    ten, and take over the rest, as a budget of a tenth of the pages a day has it.
    """
    allow_loopback()
    order = {"seeds": ["http://127.0.0.1:8900/"], "visits_a_day": pages // 10}
    crawl, now = create_crawl({"name": "A crawl with a plan", **order}), timezone.now()
    tell("DROP INDEX IF EXISTS pages_by_words")  # slow to fill, and asked by no page here
    add_hosts(hosts)
    for number in range(1, runs + 1):
        began = now - timedelta(days=runs - number, hours=11)
        facts = {"state": "finished", "is_latest": number == runs, "started_at": began}
        ended = began + timedelta(hours=11)
        run = Run.objects.create(crawl=crawl, number=number, finished_at=ended, **facts)
        given = {"run": run.pk, "number": number, "began": began}
        tell(QUEUES, given=given)
        number_places([run.pk])
        for numbers in slices(pages):
            tell(PAGES, given={**given, **numbers})
    tell("VACUUM ANALYZE")
    return crawl
