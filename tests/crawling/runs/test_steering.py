"""Pause, resume and stop, and what is said meanwhile."""

from __future__ import annotations

from django.urls import reverse

from crawling.dashboard.base.crawl_views import crawl_view
from crawling.models import RunProcess
from crawling.runs import steering
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift
from crawling.runs.start import start_run
from tests.crawling.pages import browser

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


def test_a_pause_from_the_page_may_keep_what_the_crawl_holds(order):
    run = start_run(create_crawl(order(SEED)))
    begin_shift(RunProcess.objects.get(run=run), epoch=1, worker="w")
    operator = browser("operator")

    page = operator.get(reverse("crawling:crawl", args=[run.crawl_id])).content.decode()
    assert 'name="keep_minutes" value="30"' in page
    steer = reverse("crawling:steer", args=[run.crawl_id, "pause"])
    assert (
        "are a number"
        in operator.post(steer, {"keep_minutes": "soon"}, follow=True).content.decode()
    )
    assert (
        "at most a day"
        in operator.post(steer, {"keep_minutes": "99999"}, follow=True).content.decode()
    )
    operator.post(steer, {"keep_minutes": "30"})

    run.refresh_from_db()
    assert (run.state, run.keep_seconds) == ("pausing", 1800)
