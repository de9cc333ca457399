"""A page that takes longer than a shift has left is a try, and is let end at last."""

from __future__ import annotations

import threading

import pytest
from django.db import connections

from crawling.fetching.shift import ending_policy, work
from crawling.models import Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.runs.steering import pause
from crawling.web.statuses import FetchStatus
from tests.crawling.fetching.pipeline.test_crawl_path import links


@pytest.fixture
def slow(make_site):
    """A site whose page /slow comes when it is let go, and was asked for so often."""
    let_go = threading.Event()

    def page(request):
        let_go.wait(60)
        return 200, {"Content-Type": "text/html"}, "at last"

    site = make_site({"/": links("/slow"), "/slow": page})
    site.let_go = let_go
    yield site
    let_go.set()


@pytest.fixture
def contended(settings, monkeypatch, order):
    """Slices end at once, because another crawl waits for what the first one holds."""
    settings.CRAWL_SLICE_SECONDS = 0.1
    monkeypatch.setattr(ending_policy, "JOIN_SECONDS", 0.2)
    monkeypatch.setattr(work, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr("crawling.fetching.shift.grants.ShiftGrants.others_wait", lambda self: True)


def tries(run):
    return Url.objects.get(run=run, url__endswith="/slow").attempts


def test_a_page_that_slices_cut_off_counts_its_tries_and_is_let_end(
    contended, slow, order, work_off
):
    run = start_run(create_crawl(order(f"{slow.url}/", archive=False)))
    work_off(run, until=lambda run: slow.paths.count("/slow") == 2 and tries(run) == 2)

    threading.Timer(1.5, slow.let_go.set).start()  # longer than a shift under contention lasts
    work_off(run)

    assert (run.state, slow.paths.count("/slow")) == ("finished", 3)
    assert Url.objects.get(run=run, url__endswith="/slow").state == "s"


def test_a_page_that_a_pause_cuts_off_was_not_tried(slow, order, work_off, monkeypatch):
    monkeypatch.setattr(ending_policy, "JOIN_SECONDS", 0.1)
    for name in ("LET_END_SECONDS", "LOOK_SECONDS"):
        monkeypatch.setattr(work, name, 0.1)
    crawl = create_crawl(order(f"{slow.url}/slow", archive=False))
    run = start_run(crawl)

    def page(request):
        pause(crawl)
        connections.close_all()
        slow.let_go.wait(60)
        return 200, {}, "too late"

    slow.pages["/slow"] = page
    work_off(run, until=lambda run: run.state == "paused")

    row = Url.objects.get(run=run)
    assert (row.state, row.attempts, slow.paths) == ("q", 0, ["/slow"])


def test_a_page_that_never_ends_does_not_keep_a_run_for_ever(
    contended, slow, order, work_off, monkeypatch
):
    monkeypatch.setattr(work, "LET_END_SECONDS", 0.5)
    monkeypatch.setattr(work, "LONGEST_SLICES", 1)

    run = work_off(start_run(create_crawl(order(f"{slow.url}/", archive=False))))

    row = Url.objects.get(run=run, url__endswith="/slow")
    assert (run.state, row.state, row.status) == ("finished", "f", FetchStatus.TIMED_OUT)
    assert slow.paths.count("/slow") == 4
    assert "cut it off" in row.error
