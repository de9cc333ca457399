"""Pages are asked for again at the rate at which they change (SEEDS B8, B12)."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from crawling.frontier.rules.hotspots import RevisitCheck, next_check_time
from crawling.models import HotPage, Page, Schedule
from crawling.orders.schedules import ScheduleTiming, next_pace_minutes
from crawling.runs.crawls.schedules import follow_changes, set_schedule, start_scheduled
from crawling.runs.start import start_run
from tests.crawling.fetching.pipeline.test_crawl_path import links

HTML = {"Content-Type": "text/html"}
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def checks(*days_ago_and_digest):
    return [
        RevisitCheck(NOW - timedelta(days=days), digest) for days, digest in days_ago_and_digest
    ]


@pytest.mark.parametrize(
    ("seen", "due_in_days"),
    [
        ([(0, b"a")], 0),
        ([(0, b"a"), (7, b"a")], 7),
        ([(3, b"a"), (7, b"a")], 1),
        ([(0, b"a"), (7, b"a"), (8, b"a")], 8),
        ([(0, b"b"), (7, b"a"), (20, b"a")], 0),
        ([(0, b"a"), (2, b"a"), (3, b"b"), (9, b"a")], 2),
        ([(0, b"a"), (90, b"a")], 30),
    ],
)
def test_a_page_is_left_alone_for_as_long_as_it_has_stayed_the_same(seen, due_in_days):
    assert next_check_time(checks(*seen), timedelta(days=30)) == NOW + timedelta(days=due_in_days)


@pytest.fixture
def news(make_site):
    """A page that is another each time, and two that are not; one of these answers "not
    modified"."""
    count = iter(range(1000))

    def tagged(request):
        if request.headers.get("If-None-Match") == '"1"':
            return 304, {"ETag": '"1"'}, ""
        return 200, {**HTML, "ETag": '"1"'}, links("/deeper")

    return make_site(
        {
            "/": lambda request: (200, HTML, f"news {next(count)} {links('/still', '/tagged')}"),
            "/still": "the same each time",
            "/tagged": tagged,
            "/deeper": "found on a page that is not asked for",
        }
    )


def ago(days):
    """Let everything have happened so many days before."""
    Page.objects.update(fetched_at=F("fetched_at") - timedelta(days=days))


def again(run, work_off, site):
    """Run the crawl again; returns the run and the paths that were asked for."""
    before = len(site.paths)
    run = work_off(start_run(run.crawl))
    return run, sorted(site.paths[before:])


def test_a_run_asks_for_what_changes_and_carries_over_what_stays(news, crawl_to_the_end, work_off):
    everything = ["/", "/deeper", "/still", "/tagged"]
    first = crawl_to_the_end(f"{news.url}/", revisit_days=30)
    ago(days=10)
    second, asked_second = again(first, work_off, news)
    ago(days=1)
    third, asked_third = again(first, work_off, news)
    ago(days=10)
    _, asked_fourth = again(first, work_off, news)

    assert (asked_second, asked_third, asked_fourth) == (everything, ["/"], everything)
    assert {
        url.removeprefix(news.url): state for url, state in third.urls.values_list("url", "state")
    } == dict.fromkeys(everything, "s")
    assert third.pages.exclude(reused_from=None).count() == 3
    assert not HotPage.objects.exists()  # which counts what several crawls want
    assert dict(third.pages.values_list("url__url", "digest")).items() - dict(
        second.pages.values_list("url__url", "digest")
    ).items() == {(f"{news.url}/", third.pages.get(url__url=f"{news.url}/").digest)}


def test_without_a_word_in_the_order_every_run_asks_for_every_page(
    news, crawl_to_the_end, work_off
):
    first = crawl_to_the_end(f"{news.url}/")
    ago(days=10)
    again(first, work_off, news)

    assert again(first, work_off, news)[1] == ["/", "/deeper", "/still", "/tagged"]


@pytest.mark.parametrize(
    ("pace", "compared", "changed", "following"),
    [
        (1440, 100, 5, 720),
        (100, 100, 90, 60),
        (60, 100, 90, 60),
        (720, 100, 4, 720),
        (720, 100, 0, 1440),
        (1440, 100, 0, 1440),
        (60, 0, 0, 120),
    ],
)
def test_interval_of_a_schedule_is_halved_while_pages_change_and_doubled_while_none_does(
    pace, compared, changed, following
):
    timing = ScheduleTiming(every_minutes=1440, fastest_minutes=60)

    assert next_pace_minutes(timing, pace, compared=compared, changed=changed) == following


def test_schedule_is_due_sooner_after_a_run_whose_pages_changed(crawl_to_the_end, work_off, news):
    first = crawl_to_the_end(f"{news.url}/")
    timing = {"every_minutes": 100, "fastest_minutes": 30}
    schedule = set_schedule(first.crawl, timing)
    follow_changes()
    second = work_off(start_run(first.crawl))

    follow_changes()
    follow_changes()

    schedule.refresh_from_db()
    assert (schedule.pace_minutes, schedule.judged_run) == (50, second.pk)
    assert schedule.next_at == second.created_at + timedelta(minutes=50)
    told = "1 of 4 pages changed since run 1; the schedule starts the next run after 50 minutes."
    assert second.log.filter(message=told).count() == 1
    Schedule.objects.update(next_at=timezone.now())
    before = timezone.now()
    start_scheduled()
    schedule.refresh_from_db()
    assert schedule.next_at >= before + timedelta(minutes=50)
    assert set_schedule(first.crawl, {"every_minutes": 100}).pace_minutes is None
