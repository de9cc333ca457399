"""The rows and columns of the list of crawls."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.contrib.auth.models import User

from crawling.dashboard.base.columns import ColumnHead, column_head
from crawling.dashboard.base.crawl_views import NOT_STARTED, CrawlView
from crawling.dashboard.crawls.filter import BY_COUNTS, CrawlFilter
from crawling.dashboard.crawls.listing import Listing
from crawling.dashboard.run.rates import rates_now
from crawling.installation.permissions import crawls_acted_on
from crawling.models import CrawlJob, Schedule
from crawling.runs.endings import ALL_DONE
from crawling.runs.transitions import FETCHING, possible_actions
from crawling.runs.verbs import Verb, offered_verbs

#: the number of a crawl's seeds that its row shows
SEEDS_TOLD = 10
#: reasons that add nothing to the state beside them
TOLD_BY_STATE = frozenset({NOT_STARTED, FETCHING, ALL_DONE})


class CrawlListRow(NamedTuple):
    crawl: CrawlJob
    view: CrawlView
    verbs: dict[str, Verb]
    rate: float | None
    #: whether the rate is that of the last minutes, as for an active crawl, and not the average
    is_now: bool
    #: whether the user may act on the crawl, as far as the role permits
    may_act: bool
    #: the next time when the schedule starts the crawl
    next_at: datetime | None

    @property
    def some_seeds(self) -> Sequence[str]:
        """The first seeds, since there may be thousands."""
        return self.view.seeds[:SEEDS_TOLD]

    @property
    def reason(self) -> str:
        """The reason for the state; empty if the state says enough."""
        return "" if self.view.reason in TOLD_BY_STATE else self.view.reason

    @property
    def settings(self) -> str:
        crawl = self.crawl
        depth = [f"{crawl.max_depth} deep"] if crawl.max_depth is not None else []
        workers = [f"{crawl.processes} workers"] if crawl.processes > 1 else []
        return ", ".join(
            [
                f"{crawl.scope} scope",
                crawl.visit_order.replace("_", " "),
                f"at least {crawl.delay_seconds:g} s delay",
                *depth,
                *workers,
            ]
        )


def list_rows(listing: Listing, user: User) -> list[CrawlListRow]:
    """The rows of a page of the list, with the actions of the user. Takes at most five queries."""
    now = rates_now(
        [view.run_id for _, view in listing.crawls if view.run_id and not view.is_at_rest]
    )
    ids = [crawl.pk for crawl, _ in listing.crawls]
    own = crawls_acted_on(user, ids)
    next_at = dict(Schedule.objects.filter(crawl__in=ids).values_list("crawl", "next_at"))
    return [
        _row(crawl, view, now, crawl.pk in own, next_at.get(crawl.pk))
        for crawl, view in listing.crawls
    ]


def _row(
    crawl: CrawlJob,
    view: CrawlView,
    now: Mapping[int, float],
    may_act: bool,
    next_at: datetime | None,
) -> CrawlListRow:
    """A row of the list. An active run has its current rate, an ended run its average rate, and a
    waiting run no rate.
    """
    average = view.pages_per_second if view.finished_at else None
    rate = now.get(view.run_id, average) if view.run_id else None
    verbs = possible_actions(view.state, queued=view.counts.queued)
    # the row would be crowded with the harsher action beside the gentler one
    if "stop" in verbs:
        verbs.remove("abort")
    return CrawlListRow(
        crawl,
        view,
        offered_verbs(verbs, has_run=view.run is not None, is_at_limit=view.is_at_limit),
        rate,
        view.run_id in now,
        may_act,
        next_at,
    )


class CrawlColumn(NamedTuple):
    label: str
    #: whether the column has numbers, which are sorted with the largest first
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
#: columns that are hidden until a user shows them
USUALLY_HIDDEN = frozenset({"known", "excluded"})
#: key and head of the columns that a user may hide
HIDEABLE = {
    key: one.label for key, one in COLUMNS.items() if key not in ("name", "state", "fetched")
}


def column_heads(wanted: CrawlFilter, listing: Listing, shown: Collection[str]) -> list[ColumnHead]:
    """The heads of the columns. If too many crawls are found for their counts to be added up,
    columns of counts cannot be sorted.
    """
    return [
        column_head(
            key if one.is_sortable and (listing.sums or key not in BY_COUNTS) else "",
            one.label,
            one.is_number and key != "started",
            now=wanted.sort,
            falls_first=one.is_number,
        )
        for key, one in COLUMNS.items()
        if key in shown
    ]
