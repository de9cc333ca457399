"""kill -9 at random moments: what the archive holds afterwards is whole, and every page's row is
right about it.
"""

from __future__ import annotations

import os
import random
import signal

import pytest

from crawling.models import Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.crawling.archive.judging import judge
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until, work_process_of

PAGES = 250


def web(count: int) -> dict[str, str]:
    """Pages of all sizes, some of them the same; each links to ten more."""
    children = {n: range(10 * n + 1, min(10 * n + 11, count)) for n in range(count)}
    filling = {n: random.Random(n % 7).randbytes(20 * (n % 90)).hex() for n in range(count)}
    return {
        f"/{n or ''}": "".join(f'<a href="/{child}">x</a>' for child in children[n]) + filling[n]
        for n in range(count)
    }


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.drill  # tests/kill_anywhere judges the archive, too
def test_an_archive_survives_its_writers(transactional_db, seed, make_site, order, tmp_path):
    dice = random.Random(seed)
    site = make_site(web(PAGES))
    run = start_run(create_crawl(order(f"{site.url}/", batch_size=10)))

    with running_stack(
        tmp_path, BANK_LEASE_SECONDS="2", BANK_PICKUP_SECONDS="3", ARCHIVE_FILE_BYTES="100000"
    ) as stack:
        stack.start(SCHEDULER)
        worker = stack.start(WORKER)
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
        wait_until(lambda: Run.objects.get(pk=run.pk).state in ENDED_STATES)
        wait_until(lambda: not run.archive_files.filter(sealed_at=None).exists())

    assert len(judge(run)) == PAGES
