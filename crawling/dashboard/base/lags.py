"""Shows lags in all interfaces: on pages by `crawling/_lag.html`, in the JSON of lists by LagOut,
in the names of files, and on a line of commands.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

import sys
from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import Field

from crawling.datasets.jobs import move_reading_to_front
from crawling.datasets.lag import Derived, Lag, lag_of
from crawling.datasets.parts import MOST_BEHIND
from crawling.models import Run
from serving.downloads import Download
from serving.schemas import Schema


class LagOut(Schema):
    """The lag of a list that background jobs derive from pages."""

    behind: int = Field(
        description=f"pages that are not in it yet; {MOST_BEHIND:,}: so many or more"
    )
    complete: bool = Field(description="whether all pages of the run so far are in it")
    until: datetime | None = Field(
        description="when it is complete, about; null: it is, or no rate is known"
    )


def read_lag(run: Run, name: Derived) -> Lag:
    """The lag, for a user who views the run now. Therefore the run's missing data are made before
    those of other runs.
    """
    lag = lag_of(run, name)
    if not lag.complete:
        move_reading_to_front(run)
    return lag


def lag_facts(run: Run, name: Derived) -> dict[str, Any]:
    """The fields of LagOut, for a user who views the run."""
    return lag_facts_of(read_lag(run, name))


def lag_facts_of(lag: Lag) -> dict[str, Any]:
    return {"behind": lag.behind, "complete": lag.complete, "until": lag.until}


def marked_download(file: Download, run: Run, name: Derived) -> Download:
    """The file, marked as incomplete if it lacks data of the run."""
    return replace(file, complete=file.complete and read_lag(run, name).complete)


def tell_lag(lag: Lag) -> None:
    """Warn on standard error that the output of a command is incomplete."""
    if not lag.complete:
        print(f"Not complete. {lag.missing}. {lag.prospect}.", file=sys.stderr)
