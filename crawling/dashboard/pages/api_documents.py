"""`/api/v1/crawls/{id}/…`: extracted data, similar pages, and addresses that look like a trap."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from functools import partial
from typing import Annotated, Any, Literal

from ninja import Body, Path, Query, Router
from pydantic import BeforeValidator, ConfigDict, Field

from crawling.dashboard.base.api_parameters import (
    LARGEST,
    CrawlId,
    RunNumber,
    Text,
    may_change,
    may_view,
)
from crawling.dashboard.base.lags import LagOut, lag_facts
from crawling.dashboard.base.requests import get_crawl, get_run
from crawling.dashboard.pages.downloads import EXTRACTED, extracted_rows
from crawling.dashboard.pages.duplicates import SimilarityKind, SimilarPage, list_alike
from crawling.dashboard.pages.trap_patterns import list_traps
from crawling.datasets.lag import Derived
from crawling.runs.crawls.traps import approve_trap, ban_trap
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import ListAnswer, listed
from serving.listing.sources import FoundList
from serving.schemas import Schema

documents = Router()
Kind = Annotated[
    SimilarityKind,
    Query(description="exact copies, near copies, or pages with another canonical URL"),
]
#: keys have 64 bits, and many programs that read JSON have only 53, so keys are sent as text
Key = Annotated[str, Path(pattern=r"^-?[0-9]{1,19}$", description="`key` of a pattern")]


class TrapOut(Schema):
    """A pattern of addresses that differ by numbers, ids and values only.

    fresh: pages with new content.
    """

    key: Annotated[str, BeforeValidator(str)]
    pattern: str
    state: str = Field(description="quarantined, approved or banned")
    rule: str
    reason: str
    fetched: int
    fresh: int
    held: int = Field(description="URLs that wait for an operator's decision")
    samples: list[str]


class TrapWordIn(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"verdict": "ban"}]})
    verdict: Literal["approve", "ban"]


class TrapRulingOut(Schema):
    urls: int = Field(description="URLs that were queued, or excluded")


@listed(
    documents,
    "/{crawl_id}/extracted",
    EXTRACTED,
    summary="List extracted fields",
    beside=LagOut,
)
@may_view
def list_extracted_rows(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None, name: Text = ""
) -> ListAnswer:
    """`name` is the name of a rule. Not complete means that pages have fields made by earlier
    rules.
    """
    one = get_run(crawl_id, run)
    return ListAnswer(extracted_rows(one, name), lambda: lag_facts(one, Derived.FIELDS))


@listed(
    documents,
    "/{crawl_id}/duplicates",
    FoundList(SimilarPage, goes_by_number=True),
    summary="List duplicates",
)
@may_view
def list_crawl_duplicates(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    kind: Kind = SimilarityKind.EXACT,
) -> partial[Any]:
    """Near copies exclude exact copies."""
    return partial(list_alike, get_run(crawl_id, run), kind)


@listed(
    documents,
    "/{crawl_id}/traps",
    FoundList(TrapOut, goes_by_number=True),
    summary="List patterns of possible crawler traps, with samples",
)
@may_view
def list_crawl_traps(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> partial[Any]:
    return partial(list_traps, get_run(crawl_id, run))


@documents.post(
    "/{crawl_id}/traps/{key}",
    response=TrapRulingOut,
    summary="Approve or ban a pattern of the latest run",
)
@may_change
def judge_crawl_trap(
    request: AuthenticatedRequest, crawl_id: CrawlId, key: Key, word: Annotated[TrapWordIn, Body()]
) -> dict[str, Any]:
    """Approve: its URLs are fetched, even if the run has ended.

    Ban: its URLs are excluded, including those found later.
    """
    decide = approve_trap if word.verdict == "approve" else ban_trap
    return {
        "urls": decide(get_crawl(crawl_id), max(-LARGEST, min(int(key), LARGEST)), by=request.user)
    }
