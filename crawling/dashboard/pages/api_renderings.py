"""`/api/v1/crawls/{id}/pages/{page}/rendering`: what rendering brought to a page;
`…/changes/{old}/{new}/pictures`: the differences of two screenshots.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from typing import Annotated, Any

from django.http import HttpResponse
from ninja import Path, Router, Status
from pydantic import Field

from crawling.archive.reader import rendition_of
from crawling.base.errors import NotFound
from crawling.dashboard.base.api_parameters import LARGEST, CrawlId, RunNumber, may_view
from crawling.dashboard.base.job_answers import InquiryOut, answer_of
from crawling.dashboard.base.requests import get_page, get_page_of_any, get_run
from crawling.dashboard.pages.api_reports import LineOut
from crawling.dashboard.pages.rendering_filter import rendering_counts
from crawling.models import InquiryKind
from crawling.previews.inquiries import ask_once
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

renderings = Router()
PageId = Annotated[int, Path(ge=1, le=LARGEST)]


class RenderingCountsOut(Schema):
    """Pages of a run as `rendering=` lists them; 10,000 stands for more, too."""

    rendered: int
    unrendered: int
    lacking: int
    ended: int
    faults: int


class ContentCountsOut(Schema):
    links: int
    words: int


class RenderingDiffOut(Schema):
    plain: ContentCountsOut
    rendered: ContentCountsOut
    new: int = Field(description="links that only the rendered page has")
    new_links: list[str] = Field(description="the first of them")
    lost: int = Field(description="links that only the plain page has")
    lines: list[LineOut] = Field(description="the plain text with what rendering changed")


class PictureDiffOut(Schema):
    share: float = Field(description="of the pixels that differ, 0 to 1")
    width: int
    height: int
    marked: str = Field(
        description="the later picture with the different pixels marked, JPEG in Base64"
    )


@renderings.get(
    "/{crawl_id}/renderings",
    response=RenderingCountsOut,
    summary="Count the pages of a run by their rendering",
)
@may_view
def get_rendering_counts(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> dict[str, int]:
    return dict(rendering_counts(get_run(crawl_id, run)))


@renderings.get(
    "/{crawl_id}/changes/{old_id}/{new_id}/pictures",
    response={200: PictureDiffOut, 202: InquiryOut},
    summary="Compare the screenshots of a page in two runs",
)
@may_view
def get_picture_diff(
    request: AuthenticatedRequest,
    response: HttpResponse,
    crawl_id: CrawlId,
    old_id: PageId,
    new_id: PageId,
) -> Status[Any]:
    """The ids are those of the list of changes, or of any two rendered pages. Until a background
    job has compared them the answer is 202 with `Retry-After`.
    """
    old, new = get_page_of_any(old_id), get_page(crawl_id, new_id)
    if not (old.has_picture and new.has_picture):
        raise NotFound("No browser has made pictures of both pages.")
    question = {"old": old.pk, "new": new.pk}
    inquiry = ask_once(InquiryKind.PICTURE_DIFF, question, by=request.user, run=new.run)
    return answer_of(request, response, inquiry, inquiry.answer)


@renderings.get(
    "/{crawl_id}/pages/{page_id}/rendering",
    response={200: RenderingDiffOut, 202: InquiryOut},
    summary="Compare a rendered page with the plain one",
)
@may_view
def get_page_rendering(
    request: AuthenticatedRequest, response: HttpResponse, crawl_id: CrawlId, page_id: PageId
) -> Status[Any]:
    """A background job compares them; until it is done the answer is 202 with `Retry-After`."""
    page = get_page(crawl_id, page_id)
    if rendition_of(page, "dom") is None:
        raise NotFound("No browser has rendered this page.")
    question = {"page": page.pk}
    inquiry = ask_once(InquiryKind.RENDERING_DIFF, question, by=request.user, run=page.run)
    return answer_of(request, response, inquiry, inquiry.answer)
