"""`/api/v1/disk`: how full the disk of the archive is, and when it will be full."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from datetime import datetime

from ninja import Router, Schema
from pydantic import Field

from crawling.dashboard.base.api_parameters import may_view
from crawling.housekeeping.disk import disk_now, forecast_of
from serving.access import AuthenticatedRequest

disk = Router()


class DiskOut(Schema):
    """Bytes; growth is a day's, over the last week at most, and null while there is less than a day
    of measurements.
    """

    machine: str
    total: int
    free: int
    archive: int = Field(description="in the archive files of this machine")
    database: int
    measured_since: datetime | None
    archive_a_day: float | None
    database_a_day: float | None
    used_a_day: float | None = Field(description="decrease of free space per day, from any cause")
    full_at: datetime | None = Field(
        description="at the present rate; null also if that is more than ten years"
    )


@disk.get("", response=DiskOut, summary="Get disk usage and forecast")
@may_view
def get_disk(request: AuthenticatedRequest) -> DiskOut:
    now = disk_now()
    told, since = forecast_of(now)
    return DiskOut(
        machine=now.machine,
        total=now.total,
        free=now.free,
        archive=now.archive,
        database=now.database,
        measured_since=since,
        archive_a_day=told.archive_a_day if told else None,
        database_a_day=told.database_a_day if told else None,
        used_a_day=told.used_a_day if told else None,
        full_at=told.full_at if told else None,
    )
