"""Numbers over time."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from crawling.dashboard.run.charts import POINTS, chart_of_all, chart_of_run
from crawling.housekeeping.minute_totals import total_minutes
from crawling.models import MinuteTotal, RunCount
from tests.crawling.frontiers import Frontier
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
        "Pages, and addresses found, by 4 minutes (UTC)",
        "Received, by 4 minutes (UTC)",
    ]
    lines = b"".join(viewer.get(page.select_one("figure.chart a")["href"])).decode().splitlines()
    assert lines[0] == "from,minutes,fetched,failed,discovered,bytes"
    assert len(lines) == len(chart.points) + 1


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
