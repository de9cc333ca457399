"""A failed URL is tried again when an operator asks, and everything still adds up."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry

from allocation.models import Process
from crawling.base.errors import WrongState
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.fetching.worker.jobs import run_shift
from crawling.models import Host, LogLine, Page, Run
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.grants import leave_pool
from crawling.runs.start import start_run
from crawling.runs.waiting_urls import retry_failed
from crawling.scheduler.duties import register_continued_runs, start_due_crawls
from tests.crawling.conftest import granted_starts
from tests.crawling.frontiers import Frontier, outcome

HTML = {"Content-Type": "text/html"}


@pytest.fixture
def mended(make_site, crawl_to_the_end):
    """A run that has ended with three failures; since then the site has mended /a and /b, and /gone
    is still gone.
    """
    bad = (501, HTML, "")
    site = make_site(
        {
            "/": link("/a") + link("/b") + link("/gone"),
            "/a": bad,
            "/b": bad,
            "/a/more": "x",
            "/b/more": "y",
        }
    )
    run = crawl_to_the_end(f"{site.url}/")
    assert crawl_view(run.crawl).counts.failed == 3
    site.pages |= {"/a": link("/a/more"), "/b": link("/b/more")}
    return run


def link(path):
    return f'<a href="{path}">x</a>'


def totals(crawl):
    counts = crawl_view(crawl).counts
    assert (
        counts.discovered
        == counts.queued + counts.in_process + counts.succeeded + counts.failed + counts.excluded
    )
    return counts


def test_a_run_that_had_ended_goes_on_ends_again_and_holds_nothing(mended, work_off):
    assert retry_failed(mended.crawl, by=None) == 3

    again = Run.objects.get(pk=mended.pk)
    assert (again.state, again.finished_at) == ("queued", None)
    assert totals(mended.crawl).failed == 0

    assert work_off(again).state == "finished"
    counts = totals(mended.crawl)
    assert (counts.succeeded, counts.failed, counts.fetched) == (5, 1, 6)
    assert Page.objects.filter(run=mended).count() == 6
    assert set(Process.objects.values_list("state", "holding", "lease_until")) == {
        ("finished", False, None)
    }
    assert not Host.objects.exclude(shift=None).exists()


def test_the_very_first_shift_that_is_granted_works(mended):
    retry_failed(mended.crawl, by=None)

    ((process, epoch),) = granted_starts()

    assert (
        run_shift(process, epoch) == "the queue is empty for now"
    )  # an epoch used twice would be turned away


def test_it_may_be_done_again_and_again(mended, work_off):
    for failed in (3, 1, 1):
        assert retry_failed(mended.crawl, by=None) == failed
        assert work_off(Run.objects.get(pk=mended.pk)).state == "finished"

    assert totals(mended.crawl).failed == 1


def test_one_cause_may_be_tried_again_alone(mended, work_off):
    assert retry_failed(mended.crawl, by=None, status=404) == 1

    work_off(Run.objects.get(pk=mended.pk))
    assert dict(mended.urls.filter(state="f").values_list("status", "attempts")) == {501: 1, 404: 1}


def test_one_url_may_be_tried_again_alone(mended, work_off):
    first = mended.urls.filter(state="f").order_by("pk").first()

    assert retry_failed(mended.crawl, by=None, url_id=first.pk) == 1

    assert set(mended.urls.filter(state="q").values_list("pk", flat=True)) == {first.pk}
    assert (
        LogLine.objects.filter(run=mended)
        .latest("pk")
        .message.startswith("A failed URL is to be tried again")
    )
    with pytest.raises(WrongState, match="That URL has not failed, or not any more"):
        retry_failed(mended.crawl, by=None, url_id=first.pk)


def test_nothing_failed_means_nothing_happens(mended):
    before = LogLine.objects.count()

    with pytest.raises(WrongState, match="has no URL that failed with status -5"):
        retry_failed(mended.crawl, status=-5)

    assert Run.objects.get(pk=mended.pk).state == "finished"
    assert LogLine.objects.count() == before


def test_who_asked_for_it_is_kept(mended, django_user_model):
    someone = django_user_model.objects.create_user("olga")

    retry_failed(mended.crawl, by=someone)

    assert LogEntry.objects.latest("pk").user == someone
    assert (
        LogLine.objects.filter(run=mended).latest("pk").message
        == "3 failed URLs are to be tried again, asked for by olga."
    )


def test_a_paused_run_keeps_them_until_it_is_resumed(db, pool):
    frontier = Frontier()
    frontier.sow("a.test/1")
    (url,) = frontier.claim()
    frontier.record(outcome(url, "f", status=-5))
    Run.objects.update(state="paused")

    assert retry_failed(frontier.run.crawl, by=None) == 1

    frontier.check()
    assert Run.objects.get().state == "paused"
    assert frontier.states() == {"q": 1}


def test_a_crawl_that_was_never_started_has_nothing_to_retry(order):
    with pytest.raises(WrongState, match="never been started"):
        retry_failed(create_crawl(order("http://127.0.0.1:8900/")), by=None)


def test_a_run_at_its_limit_says_so_and_changes_nothing(make_site, crawl_to_the_end, free_port):
    site = make_site({"/": "x"})
    run = crawl_to_the_end(f"{site.url}/", f"http://127.0.0.1:{free_port}/robots.txt", max_pages=1)
    run.urls.filter(state="q").update(state="f", status=-4)

    with pytest.raises(WrongState, match="limit of 1 pages"):
        retry_failed(run.crawl, by=None)

    assert Run.objects.get().state == "finished"
    assert run.urls.filter(state="f").exists()


def test_a_process_that_another_finished_meanwhile_is_registered_anew(mended, work_off):
    retry_failed(mended.crawl, by=None)
    leave_pool(mended)  # late: by a process that saw the run end before it continued

    register_continued_runs()
    start_due_crawls()

    assert work_off(Run.objects.get(pk=mended.pk)).state == "finished"


def test_a_stopping_run_is_left_alone(order):
    crawl = create_crawl(order("http://127.0.0.1:8900/"))
    run = start_run(crawl)
    Run.objects.filter(pk=run.pk).update(state="stopping")

    with pytest.raises(WrongState, match="is stopping"):
        retry_failed(crawl, by=None)
