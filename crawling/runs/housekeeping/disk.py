"""The disk with the archive: its free space, its growth, and the time when it will be full.

Writes `DiskSample`.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Sum
from django.db.models.functions import Now
from django.utils import timezone

from crawling.archive.files import this_machine
from crawling.models import ArchiveFile, DiskSample
from crawling.models.archive import archive_disk
from crawling.runs.housekeeping.disk_forecast import DiskMeasurement, Forecast, forecast

#: older measurements are left out of the forecast, since they say little about the future
LOOKED_BACK = timedelta(days=7)
MEASURED_EVERY = timedelta(hours=1)
SAMPLES_KEPT = timedelta(days=35)


@dataclass(frozen=True)
class DiskSpace:
    """Bytes now."""

    machine: str
    total: int
    free: int
    #: the size of this machine's archive files
    archive: int
    #: the size of the database, which may be on another disk
    database: int


def disk_now() -> DiskSpace:
    usage, here = shutil.disk_usage(archive_disk()), this_machine()
    archive = (
        ArchiveFile.objects.filter(machine=here).aggregate(size=Sum("committed_length"))["size"]
        or 0
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        database = cursor.fetchone()[0]
    return DiskSpace(here, usage.total, usage.free, archive, database)


def forecast_of(disk: DiskSpace) -> tuple[Forecast | None, datetime | None]:
    """The forecast if there are enough measurements, and the time of the first measurement, if
    any.
    """
    samples = DiskSample.objects.filter(machine=disk.machine, at__gt=Now() - LOOKED_BACK).order_by(
        "at"
    )
    history = [
        DiskMeasurement(*row) for row in samples.values_list("at", "free", "archive", "database")
    ]
    since = history[0].at if history else None
    return forecast(
        [*history, DiskMeasurement(timezone.now(), disk.free, disk.archive, disk.database)]
    ), since


def measure_disk() -> None:
    """Add a measurement of this machine, unless the last is younger than an hour; drop old ones."""
    here = this_machine()
    if DiskSample.objects.filter(machine=here, at__gt=Now() - MEASURED_EVERY).exists():
        return
    disk = disk_now()
    DiskSample.objects.create(
        machine=here, total=disk.total, free=disk.free, archive=disk.archive, database=disk.database
    )
    DiskSample.objects.filter(at__lt=Now() - SAMPLES_KEPT).delete()
