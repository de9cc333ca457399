"""Links that the order, a rule or a limit of a run leaves unchecked. They are missing in lists of
problems.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from django.db.models import F

from crawling.frontier import counts_of
from crawling.models import CrawlJob, Run, RunStatusCount, UrlState, VerdictCount
from crawling.models.jobs import ENDED_STATES
from crawling.orders.scope.filters import Rule
from crawling.web.statuses import FetchStatus
from serving.listing.columns import Column

EXTERNAL, ASSETS = "Check external links", "Fetch page assets"
FILTERS, TRAPS = "the filters", "a suspected trap"
OF_HOST, OF_DOMAIN = "the limit of each host", "the limit of each domain"
#: the rules that exclude addresses of links, in words. Not among them are the blocklist and other
#: protocols, whose addresses need no check, and types and sizes, which exclude only addresses that
#: have answered
CAUSES = {
    Rule.DEPTH: "the maximum depth",
    Rule.EXCLUDE: FILTERS,
    Rule.INCLUDE: FILTERS,
    Rule.BUDGET: "a soft limit",
    Rule.HOST_BUDGET: OF_HOST,
    Rule.DOMAIN_BUDGET: OF_DOMAIN,
    Rule.CRAWL_HOSTS: "the limit of hosts",
}
STATUS_CAUSES = {
    FetchStatus.ROBOTS_FORBID: "robots.txt",
    FetchStatus.TRAP: TRAPS,
    FetchStatus.FILTERED: FILTERS,
    FetchStatus.HOST_BUDGET: OF_HOST,
    FetchStatus.DOMAIN_BUDGET: OF_DOMAIN,
    FetchStatus.TAKEN_OUT: "a removal from the queue",
}


@dataclass(frozen=True)
class Unchecked:
    """The number of addresses that a run has found and not checked."""

    queued: Annotated[int, Column("that wait though the run has ended")] = 0
    outside: Annotated[
        int, Column("outside of the scope, where external links are not checked")
    ] = 0
    excluded: Annotated[
        int, Column("that the depth, filters, limits, robots.txt and the like have excluded")
    ] = 0
    cause: Annotated[str, Column("what excluded most of them; empty: there are none")] = ""
    sentence: Annotated[str, Column("empty: there are none")] = ""

    @property
    def count(self) -> int:
        return self.queued + self.outside + self.excluded


@dataclass(frozen=True)
class Coverage:
    """The parts of a site whose links a run does not check."""

    #: the fields of the order that would make the run check images and other sites
    remedies: tuple[str, ...]
    #: the number of addresses that were fetched or failed; 0 while the run has not ended
    checked: int
    #: the number of URLs that wait although the run has ended
    queued: int
    is_stopped: bool
    #: addresses outside of the scope, if links to other sites are not checked
    outside: int = 0
    #: addresses that were excluded, by the cause in words
    excluded: Mapping[str, int] = field(default_factory=dict)

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
    def cause(self) -> str:
        """The commonest cause of exclusions; empty if there are none."""
        return max(self.excluded, key=lambda one: (self.excluded[one], one), default="")

    @property
    def excluded_words(self) -> str:
        if not self.excluded:
            return ""
        count = sum(self.excluded.values())
        are = "address was" if count == 1 else "addresses were"
        why = "because of" if len(self.excluded) == 1 else "mostly because of"
        return f"{count:,} {are} excluded and not checked, {why} {self.cause}."

    @property
    def numbers_in_words(self) -> str:
        """The numbers alone, as words for messages."""
        told = (self.queued_words, self.outside_words, self.excluded_words)
        return " ".join(filter(None, told))

    @property
    def unchecked(self) -> Unchecked:
        excluded = sum(self.excluded.values())
        return Unchecked(self.queued, self.outside, excluded, self.cause, self.numbers_in_words)

    @property
    def is_complete(self) -> bool:
        return not self.remedies and not self.queued and not self.excluded


def coverage_of(run: Run) -> Coverage:
    return coverages_of([run])[run.pk]


def coverages_of(runs: Collection[Run]) -> dict[int, Coverage]:
    """The coverage of runs, by their ids, in three queries. The crawls of the runs are loaded."""
    counts = counts_of([run.pk for run in runs if run.state in ENDED_STATES])
    ruled = _urls_by_rule(runs)
    excluded = _exclusions_by_run(runs, ruled)
    found = {}
    for run in runs:
        remedies, had = _useful_settings(run.crawl), counts.get(run.pk)
        if had and had.quarantined > 0:
            excluded[run.pk][TRAPS] += had.quarantined
        found[run.pk] = Coverage(
            remedies,
            had.succeeded + had.failed if had else 0,
            had.queued if had else 0,
            run.state == "stopped",
            ruled.get((run.pk, Rule.SCOPE), 0) if EXTERNAL in remedies else 0,
            excluded[run.pk],
        )
    return found


def _urls_by_rule(runs: Collection[Run]) -> dict[tuple[int, str], int]:
    """The number of addresses that each rule has refused, by the run's id and the rule."""
    counts = VerdictCount.objects.filter(run__in=[run.pk for run in runs])
    counts = counts.filter(rule__in=[Rule.SCOPE, *CAUSES]).annotate(n=F("kept") + F("more"))
    return {(run, rule): n for run, rule, n in counts.values_list("run", "rule", "n")}


def _exclusions_by_run(
    runs: Collection[Run], ruled: Mapping[tuple[int, str], int]
) -> defaultdict[int, Counter[str]]:
    """The number of excluded addresses for each cause, by the runs' ids."""
    found = defaultdict[int, Counter[str]](Counter)
    for (run_id, rule), n in ruled.items():
        if n > 0 and rule != Rule.SCOPE:
            found[run_id][CAUSES[Rule(rule)]] += n
    counts = RunStatusCount.objects.filter(
        run__in=[run.pk for run in runs], state=UrlState.EXCLUDED, status__in=STATUS_CAUSES
    )
    for run_id, status, n in counts.values_list("run", "status", "urls"):
        if n > 0:
            found[run_id][STATUS_CAUSES[FetchStatus(status)]] += n
    return found


def _useful_settings(crawl: CrawlJob) -> tuple[str, ...]:
    filters = crawl.order.filters
    goes_out = crawl.scope == "anywhere" or filters.off_site_hops
    is_asked = filters.check_external or goes_out
    return (*(() if is_asked else (EXTERNAL,)), *(() if crawl.requisites else (ASSETS,)))
