"""A frontier of a million URLs that waits in the database goes on at once (issue 5: first fetch
within 30 s).
"""

from __future__ import annotations

import time

import pytest
from django.db import connection

from crawling.fetching.worker.jobs import run_shift
from crawling.models import Run
from crawling.runs import steering
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.crawling.conftest import granted_starts

ADD_HOSTS = (
    "INSERT INTO crawling_host (name) SELECT format('127.0.%%s.%%s:%%s', 1 + n / 250, 1 + n %% "
    "250, %s) FROM generate_series(1, %s) n"
)
ADD_QUEUES = """
INSERT INTO crawling_hostqueue (run_id, host_id, process_number, queued)
SELECT %s, id, 0, %s FROM crawling_host WHERE name <> %s
"""
ADD_URLS = """
INSERT INTO crawling_url (run_id, queue_id, fingerprint, url, depth, rank, state)
SELECT q.run_id, q.id, ('x' || substr(md5(h.name || n), 1, 16))::bit(64)::bigint,
    'http://' || h.name || '/' || n, 1, 1, 'q'
FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id, generate_series(1, %s) n
WHERE q.run_id = %s AND h.name <> %s
"""


def fill(run: Run, host: str, *, hosts: int, urls: int) -> None:
    """Let so many hosts wait with so many URLs each; no server listens there."""
    with connection.cursor() as cursor:
        cursor.execute(ADD_HOSTS, [host.partition(":")[2], hosts])
        cursor.execute(ADD_QUEUES, [run.pk, urls, host])
        cursor.execute(ADD_URLS, [urls, run.pk, host])


@pytest.mark.parametrize(
    ("hosts", "urls", "seconds"),
    [
        pytest.param(20, 100, 10, id="small"),
        pytest.param(
            1_000, 1_000, 30, id="a million", marks=[pytest.mark.drill, pytest.mark.timeout(600)]
        ),
        pytest.param(
            50_000,
            20,
            30,
            id="a million on many hosts",
            marks=[pytest.mark.drill, pytest.mark.timeout(600)],
        ),
    ],
)
def test_a_resumed_crawl_fetches_within_seconds_however_much_waits(
    hosts, urls, seconds, make_site, order, work_off
):
    site = make_site({"/": "here"})
    run = start_run(create_crawl(order(f"{site.url}/", max_pages=1)))
    steering.pause(run.crawl)
    for process, epoch in granted_starts():
        run_shift(process, epoch)  # finds it paused, and gives everything back
    fill(run, f"127.0.0.1:{site.port}", hosts=hosts, urls=urls)

    began = time.monotonic()
    steering.resume(run.crawl)
    run = work_off(run)

    assert (run.state, site.paths) == ("finished", ["/"])
    assert site.log[-1].at - began < seconds
