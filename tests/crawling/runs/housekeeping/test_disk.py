"""When the disk will be full: told from what was measured, and not where too little was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from crawling.archive.files import this_machine
from crawling.models import DiskSample
from crawling.runs.housekeeping.disk import disk_now, measure_disk
from crawling.runs.housekeeping.disk_forecast import DiskMeasurement, forecast
from crawlsite.health.probes import check_disk
from tests.crawling.pages import browser

NOW = datetime(2026, 7, 8, tzinfo=UTC)
GB = 10**9


def history(*free: int):
    """A measurement a day up to now; what is used is archive for the most part."""
    days = len(free) - 1
    return [
        DiskMeasurement(NOW - timedelta(days=days - i), left, 3 * GB * i, GB * i)
        for i, left in enumerate(free)
    ]


def test_the_day_follows_from_how_free_space_shrinks():
    told = forecast(history(100 * GB, 96 * GB, 92 * GB, 88 * GB))

    assert told.full_at - NOW == timedelta(days=22)
    assert (round(told.archive_a_day), round(told.database_a_day), round(told.used_a_day)) == (
        3 * GB,
        GB,
        4 * GB,
    )


@pytest.mark.parametrize("free", [(50, 50, 50), (50, 60, 70)])
def test_a_disk_that_does_not_fill_has_no_day(free):
    assert forecast(history(*free)).full_at is None


def test_less_than_a_day_tells_nothing():
    assert (
        forecast(
            [
                DiskMeasurement(NOW - timedelta(hours=23), 5 * GB, 0, 0),
                DiskMeasurement(NOW, GB, 0, 0),
            ]
        )
        is None
    )


def test_the_scheduler_measures_once_an_hour_and_forgets_what_is_old(db):
    old = DiskSample.objects.create(machine="here", total=1, free=1, archive=0, database=1)
    DiskSample.objects.update(at=timezone.now() - timedelta(days=40))

    measure_disk()
    measure_disk()

    sample = DiskSample.objects.get()
    assert sample.pk != old.pk
    assert 0 < sample.free < sample.total
    assert sample.database > 0


def test_the_overview_tells_the_day_or_why_it_cannot(db):
    assert "has not measured it yet" in check_disk().detail
    measure_disk()
    assert "it takes a day to say when it will be full" in check_disk().detail
    DiskSample.objects.all().delete()
    now = disk_now()
    DiskSample.objects.create(
        machine=this_machine(), total=now.total, free=2 * now.free, archive=0, database=0
    )
    DiskSample.objects.update(at=timezone.now() - timedelta(days=2))

    part = check_disk()
    told = browser("viewer").get("/api/v1/disk").json()

    assert f"full about {timezone.now() + timedelta(days=2):%Y-%m-%d}" in part.sentence
    assert "A day, over the last 2 days: archive" in part.detail
    assert not part.is_fine
    assert told["full_at"][:10] == f"{timezone.now() + timedelta(days=2):%Y-%m-%d}"
