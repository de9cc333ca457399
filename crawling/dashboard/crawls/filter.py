"""The filter of a list of crawls, and the query that finds them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, cast

from django.db.models import F, FilteredRelation, Q, QuerySet, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Upper

from allocation.wording import whole_number
from crawling.dashboard.base.time_range import ALWAYS, TimeRange
from crawling.models import CrawlJob
from crawling.models.jobs import SEARCHED
from serving.ids import ids_as_parameter
from serving.requests import asked_text

LONGEST_SEARCH = 200
SHORTEST_PIECE = 3
#: the states that pages show, in the order of a crawl's life; *waiting* is an active run that has
#: no shift because of the pool or of another crawl
STATES = (
    "draft",
    "queued",
    "running",
    "waiting",
    "pausing",
    "paused",
    "stopping",
    "finished",
    "stopped",
    "failed",
)
COUNTED = {
    "fetched": "fetched",
    "known": "discovered",
    "failed": "failed",
    "excluded": "excluded",
    "size": "bytes",
}
BY_COUNTS = (*COUNTED, "queued")
#: crawls without a run, found by two indexes; a join would take four times as long
DRAFTS = """
SELECT id FROM crawling_crawljob WHERE removal_asked_at IS NULL
EXCEPT SELECT crawl_id FROM crawling_run WHERE is_latest
"""
SORTS = ("name", "state", *BY_COUNTS, "started", "made")
#: the sort keys, ascending and descending
ORDERS = tuple(sign + key for key in SORTS for sign in ("", "-"))
NEWEST_FIRST = "-made"


@dataclass(frozen=True)
class CrawlFilter:
    """The filter that a URL's query asks for. Invalid values are ignored."""

    state: str = ""
    search: str = ""
    tag: str = ""
    sort: str = NEWEST_FIRST
    #: id of the last crawl on the previous page
    after: int | None = None
    #: the time of the latest run's first fetch
    span: TimeRange = ALWAYS
    #: the names of the crawls' owner and team
    owner: str = ""
    team: str = ""

    @classmethod
    def read(cls, query: Any) -> CrawlFilter:
        state, sort, after = query.get("state", ""), query.get("sort", ""), query.get("after", "")
        return cls(
            state=state if state in STATES else "",
            search=_words(query, "q"),
            tag=_words(query, "tag"),
            sort=sort if sort.removeprefix("-") in SORTS else NEWEST_FIRST,
            after=whole_number(after),
            span=TimeRange.read(query),
            owner=_words(query, "owner"),
            team=_words(query, "team"),
        )

    @property
    def is_filtered(self) -> bool:
        return bool(self.state) or self.narrows

    @property
    def unmet(self) -> str:
        """The filter in words, to be put behind “No crawl”."""
        asked = {
            f"is {self.state}": self.state,
            f"has “{self.search}” in its name or start URLs": self.search,
            f"has the tag “{self.tag}”": self.tag,
            f"is of {self.owner}": self.owner,
            f"is of the team {self.team}": self.team,
            "started then": self.span,
        }
        return " and ".join(words for words, given in asked.items() if given) or "follows here"

    @property
    def narrows(self) -> bool:
        """Whether the filter has a condition other than a state."""
        return bool(self.search or self.tag or self.span or self.owner or self.team)


def _words(query: Any, name: str) -> str:
    return asked_text(query, name, most=LONGEST_SEARCH)


def without_sums(wanted: CrawlFilter) -> CrawlFilter:
    return (
        replace(wanted, sort=NEWEST_FIRST) if wanted.sort.removeprefix("-") in BY_COUNTS else wanted
    )


def found_crawls(
    wanted: CrawlFilter, waiting: Collection[int], among: Collection[int] | None = None
) -> Any:
    """The crawls that match search, tag and state, each with `latest`, the id of its latest run.

    waiting: ids of the waiting runs. among: ids of the found crawls, if they are known.
    """
    crawls: Any = matching_crawls(wanted).annotate(
        last=FilteredRelation("runs", condition=Q(runs__is_latest=True))
    )
    crawls = crawls.annotate(latest=F("last__pk"))
    if among is not None:
        return crawls.filter(pk__in=ids_as_parameter(among))
    if wanted.span:
        crawls = crawls.filter(wanted.span.of("last__started_at"))
    if wanted.state == "draft":
        return crawls.filter(pk__in=RawSQL(DRAFTS, []))  # noqa: S611 - a constant
    if wanted.state == "waiting":
        return crawls.filter(last__in=ids_as_parameter(waiting))
    return (
        crawls.filter(last__state=wanted.state).exclude(last__in=ids_as_parameter(waiting))
        if wanted.state
        else crawls
    )


def matching_crawls(wanted: CrawlFilter) -> QuerySet[CrawlJob]:
    """The crawls that match search, tag, owner and team. Runs are not read for this."""
    crawls: Any = CrawlJob.objects.all()
    if wanted.search:
        crawls = crawls.annotate(words=SEARCHED).filter(_contains_text(wanted.search))
    if wanted.tag:
        crawls = crawls.filter(tags__contains=[wanted.tag])
    if wanted.owner:
        crawls = crawls.filter(created_by__username=wanted.owner)
    if wanted.team:
        crawls = crawls.filter(team=wanted.team)
    return cast("QuerySet[CrawlJob]", crawls)


def _contains_text(text: str) -> Q:
    """The condition that a crawl contains a text. The index has trigrams, with a blank before each
    word, so texts of fewer than three characters are searched at the beginnings of words.
    """
    if len(text) >= SHORTEST_PIECE:
        return Q(words__contains=Upper(Value(text)))
    return Q(words__startswith=Upper(Value(text))) | Q(words__contains=Upper(Value(f" {text}")))
