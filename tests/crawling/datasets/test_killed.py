"""kill -9 at random moments: all links of all pages are in the dataset afterwards, each once."""

from __future__ import annotations

import os
import random
import signal

import pytest

from crawling.datasets.parts import count_pages_behind
from crawling.datasets.query import query_links
from crawling.models import LinksPart, Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.crawling.archive.test_killed import PAGES, web
from tests.stack import (
    BACKGROUND,
    SCHEDULER,
    WORKER,
    running_stack,
    wait_until,
    work_process_of,
)


@pytest.mark.drill  # the parts of a lost shift are in test_dataset
def test_no_link_is_lost_or_doubled_by_killed_shifts(transactional_db, make_site, order, tmp_path):
    dice = random.Random(1)
    site = make_site(web(PAGES))
    run = start_run(create_crawl(order(f"{site.url}/", batch_size=10)))

    with running_stack(tmp_path, BANK_LEASE_SECONDS="2", BANK_PICKUP_SECONDS="3") as stack:
        for command in (SCHEDULER, BACKGROUND):
            stack.start(command)
        worker = stack.start(WORKER)
        killed = 0
        for _ in range(3):
            more = Page.objects.filter(run=run).count() + dice.randrange(5, 50)
            wait_until(
                lambda more=more: (
                    Page.objects.filter(run=run).count() > more
                    or Run.objects.get(pk=run.pk).state in ENDED_STATES
                )
            )
            if work_process := work_process_of(worker):
                os.kill(work_process.pid, signal.SIGKILL)
                killed += 1
        wait_until(lambda: Run.objects.get(pk=run.pk).state in ENDED_STATES, seconds=60)
        wait_until(lambda: not count_pages_behind(run), seconds=120)

    assert killed
    assert LinksPart.objects.filter(shift=None).exists()  # some were read from the archive
    found = query_links(run, "SELECT page, target FROM links ORDER BY ALL")
    expected = [
        (f"{site.url}/{page or ''}", f"{site.url}/{child}")
        for page in range(PAGES)
        for child in range(10 * page + 1, min(10 * page + 11, PAGES))
    ]
    assert found == sorted(expected)
