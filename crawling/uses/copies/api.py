"""`/api/v1/crawls/{id}/copies…`: copies of a run's pages, and of a supplied text."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from typing import Annotated, Any, Literal

from django.http import HttpResponse
from ninja import Body, Path, Query, Router, Status
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import (
    LARGEST,
    CrawlId,
    Limit,
    RunNumber,
    may_view,
)
from crawling.dashboard.base.job_answers import InquiryOut, answer_of, open_inquiry
from crawling.dashboard.base.requests import get_page, get_run
from crawling.uses.copies.jobs import (
    clusters_of_inquiry,
    page_of_any_crawl,
    pages_of_inquiry,
    request_clusters,
    request_passages,
    request_text_search,
    shared_text_of_inquiry,
    text_inquiry,
)
from crawling.uses.copies.results import Cluster, Clusters, PageWithText, SharedText
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

copies = Router()
PageId = Annotated[int, Path(ge=1, le=LARGEST, description="as in the list of pages")]
TextId = Annotated[int, Path(ge=1, le=LARGEST, description="of the supplied text")]
OtherRun = Annotated[
    int | None,
    Query(ge=1, le=LARGEST, description="the number of another run, pages of which are duplicates"),
]
OtherCrawl = Annotated[
    int | None, Query(ge=1, le=LARGEST, description="its crawl, by its id; default: this one")
]


class ClusterPage(Schema):
    count: int
    pages: int = Field(description="in all clusters")
    items: list[Cluster]
    next: int | None


class PageWithTextList(Schema):
    items: list[PageWithText]


class SuppliedText(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"text": "Five words in a row."}]},
    )

    text: Annotated[str, Field(min_length=1, max_length=1024 * 1024)]


@copies.get(
    "/{crawl_id}/copies",
    response={200: ClusterPage, 202: InquiryOut},
    summary="Clusters of duplicates in a run, or in two",
)
@may_view
def list_copies(
    request: AuthenticatedRequest,
    response: HttpResponse,
    crawl_id: CrawlId,
    run: RunNumber = None,
    against: OtherRun = None,
    other_crawl: OtherCrawl = None,
    kind: Annotated[
        Literal["near", "exact"], Query(description="nearly the same text, or the same content")
    ] = "near",
    cursor: Annotated[int, Query(ge=0, le=10**6, description="`next` of the page before")] = 0,
    limit: Limit = 20,
) -> Status:
    """With `against` or `other_crawl` only clusters with pages of both runs. A background job finds
    them; until it is done the answer is 202 with `Retry-After`.
    """
    one, other = get_run(crawl_id, run), None
    if against is not None or other_crawl is not None:
        other = get_run(other_crawl or crawl_id, against)
    inquiry = request_clusters(
        one,
        None if other == one else other,
        near=kind == "near",
        skip=cursor,
        most=limit,
        by=request.user,
    )
    found = clusters_of_inquiry(inquiry)
    page = found and _cluster_page(found, cursor + limit)
    return answer_of(request, response, inquiry, page)


def _cluster_page(found: Clusters, following: int) -> dict[str, Any]:
    return {
        "count": found.count,
        "pages": found.pages,
        "items": found.clusters,
        "next": following if found.count > following else None,
    }


@copies.post(
    "/{crawl_id}/copies/texts",
    response={202: InquiryOut},
    summary="Look for pages with passages of a text",
)
@may_view
def create_text(
    request: AuthenticatedRequest,
    response: HttpResponse,
    crawl_id: CrawlId,
    body: Annotated[SuppliedText, Body()],
    run: RunNumber = None,
) -> Status:
    """A background job looks for them. `result` is where its answer will be, for an hour and for
    the same user.
    """
    one = get_run(crawl_id, run)
    inquiry = request_text_search(body.text, one, by=request.user)
    result = f"/api/v1/crawls/{crawl_id}/copies/texts/{inquiry.pk}"
    return open_inquiry(response, inquiry, result)


@copies.get(
    "/{crawl_id}/copies/texts/{text_id}",
    response={200: PageWithTextList, 202: InquiryOut},
    summary="The pages with passages of a supplied text",
)
@may_view
def list_text_copies(
    request: AuthenticatedRequest, response: HttpResponse, crawl_id: CrawlId, text_id: TextId
) -> Status:
    """The pages with the most of its words come first."""
    inquiry = text_inquiry(text_id, crawl_id, by=request.user)
    pages = pages_of_inquiry(inquiry)
    items = None if pages is None else {"items": pages}
    return answer_of(request, response, inquiry, items)


@copies.get(
    "/{crawl_id}/copies/texts/{text_id}/{page_id}",
    response={200: SharedText, 202: InquiryOut},
    summary="The passages that a page shares with a supplied text",
)
@may_view
def get_text_passages(
    request: AuthenticatedRequest,
    response: HttpResponse,
    crawl_id: CrawlId,
    text_id: TextId,
    page_id: PageId,
) -> Status:
    """`one` is of the text, `other` of the page."""
    supplied = text_inquiry(text_id, crawl_id, by=request.user)
    inquiry = request_passages(get_page(crawl_id, page_id), None, supplied, by=request.user)
    return answer_of(request, response, inquiry, shared_text_of_inquiry(inquiry))


@copies.get(
    "/{crawl_id}/copies/passages/{old_id}/{new_id}",
    response={200: SharedText, 202: InquiryOut},
    summary="The passages that two pages share",
)
@may_view
def get_passages(
    request: AuthenticatedRequest,
    response: HttpResponse,
    crawl_id: CrawlId,
    old_id: PageId,
    new_id: PageId,
) -> Status:
    """`other` is of a page of the crawl, `new_id`, `one` of a page of any crawl, `old_id`."""
    inquiry = request_passages(
        get_page(crawl_id, new_id), page_of_any_crawl(old_id), None, by=request.user
    )
    return answer_of(request, response, inquiry, shared_text_of_inquiry(inquiry))


ROUTERS = (("/crawls", copies, "results"),)
