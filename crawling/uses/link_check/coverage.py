"""Links that the order or a limit of a run leaves unchecked. A list without problems says nothing
about them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

from django.db.models import F, Sum

from crawling.frontier import counts_of
from crawling.models import CrawlJob, Run, VerdictCount
from crawling.models.jobs import ENDED_STATES
from crawling.orders.scope.filters import Rule
from serving.listing.columns import Column

EXTERNAL, ASSETS = "Check external links", "Fetch page assets"


@dataclass(frozen=True)
class Unchecked:
    """How many addresses a run has found and not checked."""

    queued: Annotated[int, Column("that wait though the run has ended")] = 0
    outside: Annotated[
        int, Column("outside of the scope, where external links are not checked")
    ] = 0
    sentence: Annotated[str, Column("empty: there are none")] = ""


@dataclass(frozen=True)
class Coverage:
    """The parts of a site whose links a run does not check."""

    #: names of fields of the order with which images and other sites would be checked
    remedies: tuple[str, ...]
    #: the number of URLs that wait although the run has ended
    queued: int
    is_stopped: bool
    #: addresses outside of the scope, if links to other sites are not checked
    outside: int = 0

    @property
    def order_words(self) -> str:
        if len(self.remedies) > 1:
            return "Images and links to other sites are not checked by this crawl."
        told = {
            EXTERNAL: "Links to other sites are not checked by this crawl.",
            ASSETS: "Images are not checked by this crawl.",
        }
        return "".join(told[one] for one in self.remedies)

    @property
    def queued_words(self) -> str:
        if not self.queued:
            return ""
        one = self.queued == 1
        urls = "1 URL was" if one else f"{self.queued:,} URLs were"
        end = "before it was stopped" if self.is_stopped else "before the limit"
        return f"{urls} not fetched {end}: links to {'it' if one else 'them'} are not checked."

    @property
    def outside_words(self) -> str:
        if not self.outside:
            return ""
        are = "address is" if self.outside == 1 else "addresses are"
        return f"{self.outside:,} {are} outside of the crawl's scope and not checked."

    @property
    def count_words(self) -> str:
        """The numbers alone, for messages."""
        return " ".join(filter(None, (self.queued_words, self.outside_words)))

    @property
    def unchecked(self) -> Unchecked:
        return Unchecked(self.queued, self.outside, self.count_words)

    @property
    def is_complete(self) -> bool:
        return not self.remedies and not self.queued


def coverage_of(run: Run) -> Coverage:
    return coverages_of([run])[run.pk]


def coverages_of(runs: Collection[Run]) -> dict[int, Coverage]:
    """By ids of runs. Two queries for all; their crawls are loaded."""
    ended = [run.pk for run in runs if run.state in ENDED_STATES]
    counts = counts_of(ended)
    ruled = VerdictCount.objects.filter(run__in=[run.pk for run in runs], rule=Rule.SCOPE)
    sums = ruled.values("run").annotate(n=Sum(F("kept") + F("more"))).values_list("run", "n")
    outside = dict(sums.order_by())
    found = {}
    for run in runs:
        remedies = _settings_that_would_help(run.crawl)
        found[run.pk] = Coverage(
            remedies,
            counts[run.pk].queued if run.pk in counts else 0,
            run.state == "stopped",
            outside.get(run.pk, 0) if EXTERNAL in remedies else 0,
        )
    return found


def _settings_that_would_help(crawl: CrawlJob) -> tuple[str, ...]:
    filters = crawl.order.filters
    goes_out = crawl.scope == "anywhere" or filters.off_site_hops
    is_asked = filters.check_external or goes_out
    return (*(() if is_asked else (EXTERNAL,)), *(() if crawl.requisites else (ASSETS,)))
