"""kill -9 of second readings at random moments: each page can be found afterwards, once."""

from __future__ import annotations

import os
import random
import signal

import pytest

from crawling.datasets.lag import lags_of
from crawling.models import Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.uses.search.search import SearchFilter, search_texts
from tests.stack import (
    BACKGROUND,
    SCHEDULER,
    WORKER,
    running_stack,
    wait_until,
    work_process_of,
)

PAGES = 300


@pytest.mark.drill  # what a killed job leaves is in test_second_readings
@pytest.mark.timeout(600)
def test_no_page_is_lost_or_doubled_by_killed_readings(
    transactional_db, make_site, order, tmp_path
):
    dice = random.Random(1)
    words = "<title>Page {0}</title><main>an orchard {0}</main>{1}"
    links = "".join(f"<a href=/{number}>l</a>" for number in range(PAGES))
    pages = {f"/{number}": words.format(number, "") for number in range(PAGES)}
    site = make_site({"/": words.format("home", links), **pages})
    run = start_run(create_crawl(order(f"{site.url}/", batch_size=10)))

    with running_stack(tmp_path, BANK_LEASE_SECONDS="2", BANK_PICKUP_SECONDS="3") as stack:
        for command in (SCHEDULER, WORKER):
            stack.start(command)
        background = stack.start(BACKGROUND)
        killed = 0
        for _ in range(5):
            wait_until(lambda: work_process_of(background), seconds=60)
            wait_until(lambda: dice.random() < 0.1)
            if work_process := work_process_of(background):
                os.kill(work_process.pid, signal.SIGKILL)
                killed += 1
        wait_until(lambda: Run.objects.get(pk=run.pk).state in ENDED_STATES, seconds=60)
        wait_until(lambda: not any(one.behind for one in lags_of(run)), seconds=120)

    assert killed
    found = search_texts("orchard", SearchFilter(crawl=run.crawl_id))
    assert found.count == Page.objects.filter(run=run, status=200).count() == PAGES + 1
