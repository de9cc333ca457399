"""The acts of an operator on a crawl, and the effect of an edited order on a crawl at work."""

from __future__ import annotations

import threading

import pytest
from django.db import connections

from allocation.models import Process
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.models import CrawlJob, LogLine, Page, Run, RunCount, Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.grants import leave_pool
from crawling.runs.start import start_run
from crawling.runs.waiting_urls import retry_failed
from crawling.scheduler.duties import register_continued_runs
from tests.api.conftest import SEED


def test_a_crawl_is_started_paused_resumed_stopped_and_aborted(operator, order):
    crawl = create_crawl(order(SEED))

    states = [
        operator("POST", f"crawls/{crawl.pk}/{verb}")
        for verb in ("start", "pause", "resume", "stop", "start", "abort")
    ]

    assert [body["state"] for _, body in states] == [
        "queued",
        "paused",
        "queued",
        "stopped",
        "queued",
        "stopped",
    ]
    assert states[-1][1]["reason"].startswith("Aborted by an operator")
    assert "by operator" in LogLine.objects.order_by("pk").first().message


@pytest.mark.parametrize("verb", ["pause", "resume", "stop", "abort", "retry-failed"])
def test_what_cannot_be_done_now_is_a_conflict_with_its_reason(operator, order, verb):
    crawl = create_crawl(order(SEED))

    assert operator("POST", f"crawls/{crawl.pk}/{verb}") == (
        409,
        {"detail": "a crawl has never been started."},
    )


def test_a_clone_is_a_draft_of_the_same_order_under_a_name_of_its_own(operator, order):
    crawl = create_crawl(order(SEED, max_pages=5, claim={"memory": 7}))

    status, first = operator("POST", f"crawls/{crawl.pk}/clone")
    _, second = operator("POST", f"crawls/{crawl.pk}/clone", {})
    _, named = operator("POST", f"crawls/{crawl.pk}/clone", {"name": "mine"})

    assert (status, first["state"]) == (201, "draft")
    assert [copy["name"] for copy in (first, second, named)] == [
        "a crawl copy",
        "a crawl copy 2",
        "mine",
    ]
    assert {**first["order"], "name": ""} == {**second["order"], "name": ""}
    assert (first["order"]["max_pages"], first["order"]["claim"]["memory"]) == (5, 7)
    assert operator("POST", f"crawls/{crawl.pk}/clone", {"name": "mine"})[0] == 422


@pytest.fixture
def broken(make_site, crawl_to_the_end):
    """A site of which two pages are broken, and a finished crawl of it."""
    site = make_site(
        {
            "/": '<a href="/a">a</a><a href="/b">b</a><a href="/lost">x</a>',
            "/a": (501, {}, "oh"),
            "/b": (501, {}, "oh"),
        }
    )
    return site, crawl_to_the_end(f"{site.url}/")


def check_counts(run):
    counts = crawl_view(run.crawl).counts
    assert (
        counts.discovered
        == counts.queued + counts.in_process + counts.succeeded + counts.failed + counts.excluded
    )
    assert counts.fetched == Page.objects.filter(run=run).count()
    assert counts.bytes == sum(Page.objects.filter(run=run).values_list("bytes", flat=True))
    return counts


def test_what_failed_is_tried_again_by_the_same_run_and_the_counts_add_up(
    operator, broken, work_off
):
    site, run = broken
    assert check_counts(run).failed == 3
    site.pages.update({"/a": '<a href="/new">new</a>', "/b": "fine", "/new": "found later"})

    status, body = operator("POST", f"crawls/{run.crawl_id}/retry-failed", {"status": 501})

    assert (
        status,
        body["retried"],
        body["crawl"]["state"],
        body["crawl"]["failed"],
        body["crawl"]["queued"],
    ) == (200, 2, "queued", 1, 2)
    check_counts(run)
    run.refresh_from_db()
    work_off(run)
    counts = check_counts(run)
    assert (counts.succeeded, counts.failed, counts.fetched) == (4, 1, 5)
    assert (run.number, run.state, Run.objects.count(), Process.objects.count()) == (
        1,
        "finished",
        1,
        2,
    )
    assert site.paths.count("/a") == 2
    assert site.paths.count("/lost") == 1
    assert set(Process.objects.values_list("state", flat=True)) == {"finished"}


def test_a_retry_without_failures_is_refused_and_changes_nothing(operator, broken):
    _, run = broken
    before = list(RunCount.objects.values())

    status, problem = operator("POST", f"crawls/{run.crawl_id}/retry-failed", {"status": 404 - 1})

    assert (status, problem["detail"]) == (409, "a crawl has no URL that failed with status 403.")
    assert list(RunCount.objects.values()) == before


def test_a_retry_under_a_limit_that_is_reached_says_to_raise_it(operator, broken):
    _, run = broken
    CrawlJob.objects.update(max_pages=1)

    status, problem = operator("POST", f"crawls/{run.crawl_id}/retry-failed")

    assert status == 409
    assert (
        "The limit of 1 pages is reached; more URLs are queued. Raise that limit"
        in problem["detail"]
    )
    assert Url.objects.filter(state="f").count() == 3


def test_a_run_that_left_the_bank_while_it_was_reopened_is_let_in_again(broken, work_off):
    site, run = broken
    retry_failed(run.crawl)
    leave_pool(run)  # as by one who saw the run before it was reopened

    register_continued_runs()

    run.refresh_from_db()
    assert work_off(run).state == "finished"
    assert site.paths.count("/a") == 2


def endless(count):
    return {
        "/": "".join(f'<a href="/{n}">x</a>' for n in range(count)),
        **{f"/{n}": f'<a href="/deep/{n}">x</a>' for n in range(count)},
    }


def edit_at(site, path, **changes):
    """Edit the only crawl when the site is asked for `path`, before it answers."""
    body = site.pages[path]

    def answer(request):
        thread = threading.Thread(target=edit)
        thread.start()
        thread.join(60)
        return 200, {"Content-Type": "text/html"}, body

    def edit():
        try:
            edit_crawl(CrawlJob.objects.get(), changes)
        finally:
            connections.close_all()

    site.pages[path] = answer


def test_a_shift_at_work_obeys_a_new_limit_and_a_new_depth(make_site, order, work_off, monkeypatch):
    monkeypatch.setattr("crawling.fetching.shift.work.LOOK_SECONDS", 0)
    site = make_site(endless(200))
    edit_at(site, "/5", max_pages=40, max_depth=1)

    run = work_off(start_run(create_crawl(order(f"{site.url}/", batch_size=5, delay_seconds=0.01))))

    assert run.reason == "The limit of 40 pages is reached; more URLs are queued."
    assert len(site.paths) == 40
    assert Url.objects.filter(depth=2).count() < 30
    assert run.processes.get().shifts.count() == 1


def test_a_shift_at_work_obeys_a_new_delay(make_site, order, work_off, monkeypatch):
    monkeypatch.setattr("crawling.fetching.shift.work.LOOK_SECONDS", 0)
    site = make_site(
        {
            "/": "".join(f'<a href="/{n}">x</a>' for n in range(20)),
            **{f"/{n}": "x" for n in range(20)},
        }
    )
    edit_at(site, "/9", delay_seconds=0.3)

    run = work_off(start_run(create_crawl(order(f"{site.url}/", max_pages=20, delay_seconds=0.1))))

    at = [request.at for request in site.log if request.path != "/robots.txt"]
    assert run.processes.get().shifts.count() == 1
    assert at[5] - at[4] < 0.3
    assert at[-1] - at[-2] >= 0.3
