"""Measure now and then how full the disk is, so that it can be told when it will be full."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from crawling.archive.files import this_machine
from crawling.housekeeping.disk import disk_now
from crawling.models import DiskSample

EVERY = timedelta(hours=1)
KEPT = timedelta(days=35)


def measure_disk() -> None:
    """Add a measurement of this machine, unless the last is younger than an hour; drop old ones."""
    here = this_machine()
    if DiskSample.objects.filter(machine=here, at__gt=Now() - EVERY).exists():
        return
    disk = disk_now()
    DiskSample.objects.create(
        machine=here, total=disk.total, free=disk.free, archive=disk.archive, database=disk.database
    )
    DiskSample.objects.filter(at__lt=Now() - KEPT).delete()
