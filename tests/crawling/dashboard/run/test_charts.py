"""Numbers over time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from crawling.dashboard.run.charts import POINTS, chart_of_all, chart_of_host, chart_of_run
from crawling.frontier.run_counts import total_minutes
from crawling.models import MinuteTotal, RunCount
from tests.crawling.frontier.test_claiming import ANSWER
from tests.crawling.frontiers import Frontier, outcome
from tests.crawling.pages import browser, soup


@pytest.mark.django_db
def test_a_long_run_has_few_points_which_sum_to_everything():
    run, now = Frontier().run, timezone.now().replace(second=0, microsecond=0)
    run.started_at, run.finished_at = now - timedelta(hours=12), now
    run.save()
    RunCount.objects.bulk_create(
        RunCount(
            run=run,
            process_number=n % 2,
            minute=now - timedelta(minutes=n),
            fetched=n,
            failed=1,
            bytes=10,
        )
        for n in range(700)
    )

    chart = chart_of_run(run)

    assert len(chart.points) <= POINTS
    assert (chart.minutes, chart.fetched, chart.failed, chart.bytes) == (
        4,
        sum(range(700)),
        700,
        7000,
    )
    viewer = browser("viewer")
    page = soup(viewer.get(reverse("crawling:charts", args=[run.crawl_id])))
    assert [caption.get_text() for caption in page.select("figure.chart caption")] == [
        "Pages, by 4 minutes (UTC)",
        "URLs found, by 4 minutes (UTC)",
        "Received, by 4 minutes (UTC)",
    ]
    lines = b"".join(viewer.get(page.select_one("figure.chart a")["href"])).decode().splitlines()
    assert lines[0] == "from,minutes,fetched,failed,discovered,bytes"
    assert len(lines) == len(chart.points) + 1


@pytest.mark.django_db
def test_urls_that_were_found_add_up():
    run, now = Frontier().run, timezone.now().replace(second=0, microsecond=0)
    run.started_at, run.finished_at = now - timedelta(minutes=2), now
    run.save()
    RunCount.objects.filter(run=run).delete()
    for minutes, found in ((2, 500), (1, 0), (0, 7)):
        at = now - timedelta(minutes=minutes)
        RunCount.objects.create(run=run, process_number=0, minute=at, fetched=1, discovered=found)

    page = soup(browser("viewer").get(reverse("crawling:charts", args=[run.crawl_id])))

    chart = page.find("figure", attrs={"aria-label": "URLs found"})
    assert [cell["value"] for cell in chart.select("td data")] == ["500", "500", "507"]
    assert chart["data-unit"] == "URLs found so far"


@pytest.mark.django_db
def test_the_chart_of_all_is_the_same_before_and_after_minutes_are_summed_up():
    run, now = Frontier().run, timezone.now().replace(second=0, microsecond=0)
    minutes = [now - timedelta(minutes=n) for n in range(60)]
    RunCount.objects.bulk_create(
        RunCount(run=run, process_number=p, minute=minute, fetched=3, failed=1, bytes=10)
        for minute in minutes
        for p in (0, 1)
    )
    before = [point for point in chart_of_all(24).points if point.fetched]

    total_minutes()
    RunCount.objects.filter(minute=minutes[5]).update(fetched=100)
    total_minutes()

    after = chart_of_all(24)
    assert MinuteTotal.objects.count() == 57
    assert sum(point.fetched for point in before) == 360
    assert (after.fetched, after.bytes) == (360 + 194, 1200)


MINUTE = timedelta(minutes=1)


def run_of(begun, minutes, **fields):
    """A run that ended, with counts in those minutes from its first on."""
    run = Frontier().run
    run.started_at, run.finished_at = begun, begun + max(minutes) * MINUTE + MINUTE / 2
    run.state = "finished"
    run.save()
    RunCount.objects.bulk_create(
        RunCount(run=run, process_number=0, minute=begun + n * MINUTE, **fields) for n in minutes
    )
    return run


@pytest.mark.django_db
def test_a_run_of_one_minute_has_one_bar():
    run = run_of(datetime(2026, 5, 1, 10, 0, tzinfo=UTC), [0], fetched=7)

    [point] = chart_of_run(run).points

    assert (point.fetched, point.is_open) == (7, False)


@pytest.mark.django_db
def test_minutes_in_which_nothing_was_fetched_are_shown_as_nothing():
    run = run_of(datetime(2026, 5, 1, 10, 0, tzinfo=UTC), [0, 1, 4], fetched=7)

    assert [point.fetched for point in chart_of_run(run).points] == [7, 7, 0, 0, 7]


@pytest.mark.django_db
@pytest.mark.parametrize("month_and_day", [(3, 29), (10, 25)])
def test_when_clocks_change_no_minute_is_missing_or_twice(settings, month_and_day):
    settings.TIME_ZONE = "Europe/Berlin"
    begun = datetime(2026, *month_and_day, 0, 30, tzinfo=UTC)
    with timezone.override("Europe/Berlin"):
        moments = [point.at for point in chart_of_run(run_of(begun, range(61), fetched=1)).points]

    assert moments == [begun + n * MINUTE for n in range(61)]


@pytest.mark.django_db
def test_a_chart_without_bars_says_why():
    run = Frontier().run
    run.started_at = timezone.now()
    run.save()
    viewer, address = browser("viewer"), reverse("crawling:charts", args=[run.crawl_id])

    young = soup(viewer.get(address)).select_one("figure.chart .empty").get_text()
    run.started_at -= timedelta(minutes=5)
    run.save()
    idle = soup(viewer.get(address)).select_one("figure.chart .empty").get_text()

    assert (young, idle) == (
        "The first bar appears when the first minute is over.",
        "No page was fetched in this time.",
    )


@pytest.mark.django_db
def test_the_overview_does_not_deny_the_pages_of_its_first_minute():
    run = Frontier().run
    minute = timezone.now().replace(second=0, microsecond=0)
    before = chart_of_all(1).why_empty
    RunCount.objects.create(run=run, process_number=0, minute=minute, fetched=51)

    chart = chart_of_all(1)

    assert before == "No page was fetched in this time."
    assert (chart.is_empty, chart.fetched) == (True, 51)
    assert chart.why_empty == "The first bar appears when the first minute is over."


@pytest.mark.django_db(transaction=True)
def test_a_host_of_a_run_has_charts_and_numbers_of_its_own():
    frontier = Frontier()
    frontier.run.started_at = timezone.now() - timedelta(minutes=3)
    frontier.run.save()
    frontier.sow("a.test/1", "a.test/2", "b.test/1")
    frontier.lease()
    answer = replace(ANSWER, fetched_at=timezone.now())
    frontier.record(*(outcome(url, answer=answer) for url in frontier.claim()))
    queue = frontier.run.queues.select_related("run").get(host__name="a.test")
    viewer, address = browser("viewer"), reverse("crawling:charts", args=[frontier.run.crawl_id])

    chart, is_cut = chart_of_host(queue)
    page = soup(viewer.get(address, {"host": "A.test"}))
    lines = b"".join(viewer.get(page.select_one("figure.chart a")["href"])).decode().splitlines()

    assert (chart.fetched, is_cut) == (2, False)
    assert page.select_one("h2").get_text() == "Pages of A.test"
    assert sum(int(line.split(",")[2]) for line in lines[1:]) == 2
    assert viewer.get(address, {"host": "c.test"}).status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("most", "unit", "shown"),
    [
        (700, "bytes", ["700.0", "350.0"]),
        (9_728, "KB", ["9.5", "4.75"]),
        (3 * 1024**2, "MB", ["3.0", "1.5"]),
        (0, "bytes", ["0.0", "0.0"]),
    ],
)
def test_the_axis_of_bytes_has_a_unit_that_fits_the_largest_bar(most, unit, shown):
    run, now = Frontier().run, timezone.now().replace(second=0, microsecond=0)
    run.started_at, run.finished_at = now - timedelta(minutes=1), now
    run.save()
    RunCount.objects.bulk_create(
        RunCount(
            run=run, process_number=0, minute=now - timedelta(minutes=n), fetched=1, bytes=size
        )
        for n, size in ((1, most), (0, most // 2))
    )

    page = soup(browser("viewer").get(reverse("crawling:charts", args=[run.crawl_id])))

    chart = page.select_one("figure[aria-label=Received]")
    assert chart["data-unit"] == f"{unit} in a minute"
    assert [data["value"] for data in chart.select("data")] == shown
