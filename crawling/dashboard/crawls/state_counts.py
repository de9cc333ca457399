"""Counts crawls by the state that pages show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from django.db.models import Case, CharField, Count, F, Q, QuerySet, Value, When

from crawling.dashboard.crawls.filter import (
    STATES,
    CrawlFilter,
    found_crawls,
    matching_crawls,
)
from crawling.models import CrawlJob, Run, RunState
from crawling.models.jobs import ENDED_STATES
from serving.ids import ids_as_parameter

#: the highest number up to which results of a search are counted, since a count reads each row that
#: it counts
MOST_COUNTED = 10_000


@dataclass(frozen=True)
class CrawlCount:
    """A number of crawls: exactly this number, or more if there are too many to count."""

    number: int
    is_more: bool = False

    @classmethod
    def of(cls, counted: int) -> CrawlCount:
        return cls(min(counted, MOST_COUNTED), counted > MOST_COUNTED)

    def __str__(self) -> str:
        return f"{self.number:,}{'+' if self.is_more else ''}"


def found_counts(
    wanted: CrawlFilter, waiting: Mapping[int, str]
) -> tuple[dict[str, CrawlCount | None], CrawlCount]:
    """The number of crawls that match search, tag and span, by state and in total."""
    if wanted.narrows:
        # before the run of each crawl is looked up
        if not wanted.span and _are_many(wanted):
            return dict.fromkeys(STATES), CrawlCount(MOST_COUNTED, is_more=True)
        counts = _narrowed_counts(wanted, waiting)
        found = CrawlCount.of(sum(counts.values()))
        if found.is_more:
            return dict.fromkeys(STATES), found
        return {state: CrawlCount(count) for state, count in counts.items()}, found
    states = state_counts(waiting)
    if None in states.values():
        return states, CrawlCount(MOST_COUNTED, is_more=True)
    return states, CrawlCount(sum(count.number for count in states.values() if count))


def found_ids(wanted: CrawlFilter, waiting: Collection[int]) -> tuple[CrawlCount, list[int] | None]:
    """The number of found crawls, and their ids, or None if there are too many."""
    found = found_crawls(wanted, waiting).order_by().values_list("pk", flat=True)
    ids = list(found[: MOST_COUNTED + 1])
    count = CrawlCount.of(len(ids))
    return count, None if count.is_more else ids


def _are_many(wanted: CrawlFilter) -> bool:
    some = matching_crawls(wanted).order_by().values("pk")[: MOST_COUNTED + 1]
    return some.count() > MOST_COUNTED


def _narrowed_counts(wanted: CrawlFilter, waiting: Mapping[int, str]) -> dict[str, int]:
    """The counts by state of the crawls that a search finds, of at most MOST_COUNTED + 1 crawls."""
    found = found_crawls(replace(wanted, state=""), waiting)
    shown = Case(
        When(last=None, then=Value("draft")),
        When(last__in=ids_as_parameter(waiting), then=Value("waiting")),
        default=F("last__state"),
        output_field=CharField(),
    )
    some = found.annotate(shown=shown).order_by().values("shown")[: MOST_COUNTED + 1]
    return _in_order(
        some.aggregate(**{state: Count("shown", filter=Q(shown=state)) for state in STATES})
    )


def state_counts(waiting: Mapping[int, str]) -> dict[str, CrawlCount | None]:
    """The counts of all crawls by the state that pages show, up to MOST_COUNTED + 1 for each state
    of ended crawls. `waiting` has the waiting runs with their states; each is the latest run of its
    crawl.

    If a count reaches that bound, drafts are not counted (None), since their number is the rest of
    all crawls. No crawl's row is read.
    """
    counts: dict[str, CrawlCount | None] = {
        state: CrawlCount(count) for state, count in live_counts(waiting).items()
    }
    for state in ENDED_STATES:
        some = _latest_runs().filter(state=state)[: MOST_COUNTED + 1]
        counts[state] = CrawlCount.of(some.count())
    found = [count for count in counts.values() if count]
    counts["draft"] = (
        None
        if any(count.is_more for count in found)
        else CrawlCount(CrawlJob.objects.count() - sum(count.number for count in found))
    )
    return {
        state: counts[state]
        for state in STATES
        if state in counts and counts[state] != CrawlCount(0)
    }


def live_counts(waiting: Mapping[int, str]) -> dict[str, int]:
    """The counts of crawls whose latest run has not ended, by the state that pages show."""
    live = _latest_runs().filter(state__in=set(RunState) - set(ENDED_STATES))
    counts = dict(live.values_list("state").annotate(n=Count("*")))
    for state, count in Counter(waiting.values()).items():
        counted = min(count, counts.get(state, 0))  # some runs may have ended since they were read
        counts[state] = counts.get(state, 0) - counted
        counts["waiting"] = counts.get("waiting", 0) + counted
    return counts


def _latest_runs() -> QuerySet[Run]:
    # the index has only these columns; a run that is being deleted is never the latest
    return Run.all_objects.filter(is_latest=True).order_by()


def _in_order(counts: Mapping[str, int]) -> dict[str, int]:
    return {state: counts[state] for state in STATES if counts.get(state)}
