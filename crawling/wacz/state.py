"""What is to be known of a run's WACZ file."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils import timezone

from crawling.models import Run, WaczFile
from crawling.wacz.files import KILLED, LONGEST, is_outdated, latest_wacz, readable_wacz


@dataclass(frozen=True)
class WaczState:
    """Of one run."""

    run: Run
    #: that can be given out
    file: WaczFile | None
    #: whether the run has archived more since that was asked for
    is_outdated: bool
    #: one that a background job writes
    under_way: WaczFile | None
    #: why the last one is not there
    trouble: str

    @property
    def name(self) -> str:
        return f"crawl-{self.run.crawl_id}-run-{self.run.number}.wacz"


def state_of(run: Run) -> WaczState:
    file, latest = readable_wacz(run), latest_wacz(run)
    under_way, trouble = None, ""
    if latest and not latest.written_at:
        is_late = latest.asked_at + LONGEST < timezone.now()
        trouble = latest.trouble or (KILLED if is_late else "")
        under_way = None if trouble else latest
    elif latest and not file:
        trouble = "Archive files were rewritten or pages withdrawn since it was made."
    return WaczState(run, file, bool(file and is_outdated(file, run)), under_way, trouble)
