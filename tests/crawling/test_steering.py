"""Pause, resume and stop, and what is said meanwhile."""

from __future__ import annotations

from crawling.models import RunProcess
from crawling.selectors import crawl_view
from crawling.services import steering
from crawling.services.creating import create_crawl, start_run
from crawling.services.shifts import begin_shift

SEED = "http://127.0.0.1:8900/"


def test_resumed_before_its_shift_has_ended_a_crawl_is_running_not_queued(order):
    crawl = create_crawl(order(SEED))
    run = start_run(crawl)
    process = RunProcess.objects.get(run=run)
    begin_shift(process, epoch=1, worker="w")
    steering.pause(crawl)

    steering.resume(crawl)

    view = crawl_view(crawl)
    assert (view.state, view.reason) == ("running", "Fetching.")
