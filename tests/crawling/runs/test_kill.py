"""Kill -9 in the middle of a crawl: nothing is lost, nothing counted twice, nothing stays held
(DESIGN, section 9).
"""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from allocation.models import Process
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.models import Host, Page, Run, Url
from crawling.models.jobs import ENDED_STATES
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until, work_process_of

PAGES = 240


def ladder(count: int) -> dict[str, str]:
    """A web in which each page links to ten more."""
    children = {n: range(10 * n + 1, min(10 * n + 11, count)) for n in range(count)}
    return {
        f"/{n or ''}": "".join(f'<a href="/{child}">x</a>' for child in children[n])
        for n in range(count)
    }


def kill_work_process(worker):
    os.kill(work_process_of(worker).pid, signal.SIGKILL)


def kill_worker(worker):
    worker.kill()


def kill_both(worker):
    work_process = psutil.Process(work_process_of(worker).pid)
    os.kill(work_process.pid, signal.SIGSTOP)  # so that it can do nothing between the two kills
    worker.kill()
    worker.wait()
    os.kill(work_process.pid, signal.SIGKILL)


@pytest.mark.parametrize("kill", [kill_work_process, kill_worker, kill_both])
@pytest.mark.drill  # three crawls that survive the same stand in tests/kill_anywhere
def test_a_crawl_survives_its_worker(transactional_db, kill, make_site, order, tmp_path):
    site = make_site(ladder(PAGES))
    run = start_run(create_crawl(order(f"{site.url}/", batch_size=20)))

    with running_stack(tmp_path, BANK_LEASE_SECONDS="2", BANK_PICKUP_SECONDS="3") as stack:
        stack.start(SCHEDULER)
        worker = stack.start(WORKER)
        wait_until(lambda: Page.objects.filter(run=run).count() > 40)
        kill(worker)
        if worker.poll() is not None or kill is not kill_work_process:
            stack.start(WORKER)
        wait_until(lambda: Run.objects.get(pk=run.pk).state in ENDED_STATES)

    assert set(Url.objects.filter(run=run).values_list("url", "state")) == {
        (f"{site.url}{path}", "s") for path in site.pages
    }
    assert Page.objects.filter(run=run).count() == PAGES
    counts = crawl_view(run.crawl).counts
    assert (counts.discovered, counts.fetched, counts.succeeded) == (PAGES, PAGES, PAGES)
    assert counts.bytes == sum(len(body) for body in site.pages.values())
    assert not Process.objects.filter(holding=True).exists()
    assert not Host.objects.exclude(shift=None).exists()


def test_a_worker_that_is_told_to_stop_ends_its_shift_in_order_and_the_next_goes_on(
    transactional_db, make_site, order, tmp_path
):
    site = make_site(ladder(PAGES))
    run = start_run(create_crawl(order(f"{site.url}/", batch_size=20)))

    with running_stack(tmp_path) as stack:
        stack.start(SCHEDULER)
        worker = stack.start(WORKER)
        wait_until(lambda: Page.objects.filter(run=run).count() > 40)
        worker.terminate()
        assert worker.wait(6) == 0
        first = run.processes.get().shifts.get()
        stack.start(WORKER)
        wait_until(lambda: Run.objects.get(pk=run.pk).state in ENDED_STATES)

    assert first.ending == "its worker was told to stop"
    assert len(site.paths) == PAGES  # an orderly end repeats no fetch
    assert Page.objects.filter(run=run).count() == PAGES
