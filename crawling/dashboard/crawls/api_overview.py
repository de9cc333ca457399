"""`/api/v1/overview`, `/api/v1/identity`, `/api/v1/named-things` and
`/api/v1/crawls/{id}/diagnosis`: the state of all crawls, the crawler's identity, things by their
names, and why a run is not fetching.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated, Any, Literal

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from ninja import Body, Query, Router
from pydantic import ConfigDict, Field

from crawling.base.errors import BadOrder
from crawling.dashboard.base.api_parameters import TEXT, CrawlId, RunNumber, may_change, may_view
from crawling.dashboard.base.named_things import named_things
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.crawls.overview import read_overview
from crawling.dashboard.crawls.state_counts import MOST_COUNTED, state_counts
from crawling.dashboard.run.charts import chart_of_all
from crawling.dashboard.run.diagnosis import stall_of
from crawling.dashboard.run.diagnostics_bundle import diagnostics_bundle
from crawling.dashboard.run.processes import holdings_and_waits
from crawling.installation import identity as installation
from crawling.models import Identity
from serving.access import AuthenticatedRequest, needs
from serving.schemas import Schema

overview, who, stalls, named = Router(), Router(), Router(), Router()
may_say = needs("crawling.change_identity")
#: the numbers of the overview, each with its attribute of `read_overview`
NUMBERS = {
    "active_count": "working",
    "waiting_count": "waiting",
    "resting_count": "resting",
    "problem_count": "worried",
    "pages_per_second": "pages_per_second",
}
Hours = Annotated[Literal["1", "24"], Query(description="how far back")]
ZIP: dict[str, Any] = {
    "responses": {
        200: {
            "description": "A ZIP file",
            "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
        }
    }
}
Line = Annotated[str, Field(max_length=500, pattern=TEXT)]


class IdentityOut(Schema):
    product_token: str = Field(description="name of the crawler in robots.txt")
    contact_url: str = Field(
        description="contact for site owners; empty: not set, and no public site is crawled"
    )
    purpose: str = Field(description="purpose of the crawls, shown on the page for site owners")
    addresses: str = Field(description="networks of the crawler, one per line")
    user_agent: str


class IdentityIn(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"product_token": "crawlsite", "contact_url": "mailto:crawls@example.org"}]
        },
    )
    product_token: Line
    contact_url: Line
    purpose: Annotated[str, Field(max_length=2000, pattern=TEXT)] | None = None
    addresses: Annotated[str, Field(max_length=1000, pattern=TEXT)] | None = None


class IntervalOut(Schema):
    """The counts of all crawls in an interval that begins at `at`."""

    at: datetime
    minutes: int
    is_open: bool = Field(description="the interval has not ended; its sums will grow")
    fetched: int
    failed: int
    discovered: int
    bytes: int


class IntervalList(Schema):
    items: list[IntervalOut]


class ActiveCrawlOut(Schema):
    crawl: int
    name: str
    pages_per_second: float | None


class IdleCrawlOut(Schema):
    crawl: int
    name: str
    state: str
    reason: str


class CrawlProblemOut(Schema):
    crawl: int
    name: str
    word: str
    sentence: str


class OverviewOut(Schema):
    """The lists have only the first few crawls; the numbers count all crawls."""

    states: dict[str, int | None] = Field(
        description=f"crawls by state; {MOST_COUNTED:,}: so many or more, and then drafts (null) "
        "are not counted"
    )
    active_count: int = Field(description="crawls with a live work session")
    waiting_count: int = Field(description="crawls in the state *waiting*")
    resting_count: int = Field(description="other active crawls without a live work session")
    problem_count: int
    pages_per_second: float
    active: list[ActiveCrawlOut]
    idle: list[IdleCrawlOut]
    problems: list[CrawlProblemOut] = Field(description="crawls that need attention")


class StallOut(Schema):
    cause: str = Field(
        description="fetching, crawl delay, throttled by the site, waiting for a grant, paused, "
        "stuck, ...; ended"
    )
    sentence: str
    remedy: str = Field(description="what an operator can do; empty: no action is needed")
    seconds: float | None = Field(description="until it continues, where that is known")
    is_trouble: bool = Field(description="it needs an operator")


@overview.get(
    "", response=OverviewOut, summary="Get running and waiting crawls, and what needs attention"
)
@may_view
def get_overview(request: AuthenticatedRequest) -> dict[str, Any]:
    now = read_overview()
    numbers = {name: getattr(now, kept) for name, kept in NUMBERS.items()}
    return {
        "states": {
            state: count and count.number for state, count in state_counts(now.waits).items()
        },
        **numbers,
        "active": [
            {"crawl": one.crawl.pk, "name": one.crawl.name, "pages_per_second": one.rate}
            for one in now.at_work
        ],
        "idle": [
            {
                "crawl": one.crawl.pk,
                "name": one.crawl.name,
                "state": one.why.state,
                "reason": one.why.reason,
            }
            for one in now.idle
        ],
        "problems": [
            {
                "crawl": one.crawl,
                "name": one.name,
                "word": one.word,
                "sentence": one.sentence,
            }
            for one in now.worries
        ],
    }


@overview.get(
    "/minutes",
    response=IntervalList,
    summary="List counts of all crawls by minute or quarter of an hour",
)
@may_view
def list_overview_minutes(request: AuthenticatedRequest, hours: Hours = "1") -> dict[str, Any]:
    chart = chart_of_all(int(hours))
    names = ("at", "is_open", "fetched", "failed", "discovered", "bytes")
    return {
        "items": [
            {"minutes": chart.minutes, **{name: getattr(point, name) for name in names}}
            for point in chart.points
        ]
    }


@who.get("", response=IdentityOut, summary="Get the identity of the crawler")
@may_view
def get_identity(request: AuthenticatedRequest) -> Identity:
    return installation.identity()


@who.put(
    "",
    response=IdentityOut,
    summary="Set the identity of the crawler, which every request to a site carries",
)
@may_say
def set_identity(request: AuthenticatedRequest, asked: Annotated[IdentityIn, Body()]) -> Identity:
    try:
        return installation.set_identity(**asked.dict(), by=request.user)
    except ValidationError as error:
        raise BadOrder(
            {field: " ".join(sentences) for field, sentences in error.message_dict.items()}
        ) from error


@stalls.get(
    "/{crawl_id}/diagnosis",
    response=StallOut,
    summary="Get the reason why a run is not fetching, and the remedy",
)
@may_view
def get_crawl_diagnosis(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> dict[str, Any]:
    one = get_run(crawl_id, run)
    waits = [dealing.wait for dealing in holdings_and_waits(one) if dealing.wait]
    found = stall_of(one, waits[0] if waits else None)
    if found is None:
        return {
            "cause": "ended",
            "sentence": one.reason,
            "remedy": "",
            "seconds": None,
            "is_trouble": False,
        }
    facts = {
        "sentence": found.sentence,
        "remedy": found.remedy,
        "seconds": found.seconds,
        "is_trouble": found.is_trouble,
    }
    return {"cause": str(found.cause), **facts}


@stalls.get(
    "/{crawl_id}/diagnosis/export",
    openapi_extra=ZIP,
    summary="Export the data of the diagnosis as a ZIP file",
)
@may_change
def export_crawl_diagnosis(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> HttpResponse:
    return HttpResponse(diagnostics_bundle(get_run(crawl_id, run)), content_type="application/zip")


class NamedOut(Schema):
    kind: str = Field(description="Collection, Extractor, Alert")
    name: str
    path: str = Field(description="of its page")


class NamedList(Schema):
    items: list[NamedOut]


@named.get("", response=NamedList, summary="Find collections, extractors and alerts by name")
@may_view
def list_named_things(
    request: AuthenticatedRequest,
    q: Annotated[str, Query(min_length=2, max_length=200, pattern=TEXT)],
) -> dict[str, Any]:
    """Five of each kind whose pages the user may see. Crawls, hosts and pages have their lists."""
    return {"items": list(named_things(q, request.user))}
