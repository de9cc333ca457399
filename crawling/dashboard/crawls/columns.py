"""The columns of the list of crawls."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from crawling.dashboard.base.columns import ColumnHead, column
from crawling.dashboard.crawls.filter import BY_COUNTS, CrawlFilter
from crawling.dashboard.crawls.listing import Listing


class CrawlColumn(NamedTuple):
    label: str
    #: numbers are best seen with the largest first
    is_number: bool = True
    is_sortable: bool = True


COLUMNS = {
    "name": CrawlColumn("Crawl", is_number=False),
    "state": CrawlColumn("State", is_number=False),
    "fetched": CrawlColumn("Fetched"),
    "known": CrawlColumn("Known"),
    "queued": CrawlColumn("Queued"),
    "failed": CrawlColumn("Failed"),
    "excluded": CrawlColumn("Excluded"),
    "size": CrawlColumn("Size"),
    "rate": CrawlColumn("Pages/s", is_sortable=False),
    "started": CrawlColumn("Started"),
}
#: key and head of the columns that a user may hide
HIDEABLE = {
    key: one.label for key, one in COLUMNS.items() if key not in ("name", "state", "fetched")
}


def heads(wanted: CrawlFilter, listing: Listing, shown: Collection[str]) -> list[ColumnHead]:
    """Where too many crawls are found to add up the counts of each, those heads do not sort."""
    return [
        column(
            key if one.is_sortable and (listing.sums or key not in BY_COUNTS) else "",
            one.label,
            one.is_number and key != "started",
            now=wanted.sort,
            falls_first=one.is_number,
        )
        for key, one in COLUMNS.items()
        if key in shown
    ]
