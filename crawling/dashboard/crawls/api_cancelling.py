"""`/api/v1/crawls/{id}/jobs/{kind}/cancel` and `/api/v1/inquiries/{id}/…`: cancelling background
jobs.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from typing import Annotated, Any, Literal

from django.shortcuts import get_object_or_404
from ninja import Path, Router, Status
from pydantic import Field

from crawling.dashboard.base.api_parameters import (
    LARGEST,
    CrawlId,
    RunNumber,
    may_change,
    may_view,
)
from crawling.dashboard.base.job_answers import CancellableOut, cancelled_facts
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.crawls.cancel_views import asked_again
from crawling.jobs.cancel import cancel_job, cancel_job_of_run
from crawling.jobs.kinds import kinds_of_runs
from crawling.models import Inquiry
from serving.access import AuthenticatedRequest

run_jobs = Router()
inquiries = Router()
#: all kinds are registered when the process starts; without uses of crawls there are none
KINDS = tuple(kinds_of_runs()) or ("",)
JobName = Annotated[
    Literal[*KINDS],  # type: ignore[valid-type]
    Path(description="what the job makes of a run, or of the crawl"),
]
InquiryId = Annotated[int, Path(ge=1, le=LARGEST, description="`id` of the answer 202")]


class CancelledJobOut(CancellableOut):
    run: int = Field(description="number of the run")
    kind: str


class InquiryStateOut(CancellableOut):
    """A question for a background job."""

    id: int
    kind: str = Field(description="such as test_fetch or run_changes")
    state: str = Field(description="waiting, working, answered, cancelled or failed")
    trouble: str = Field(description="why there is no answer")


@run_jobs.post(
    "/{crawl_id}/jobs/{kind}/cancel",
    response=CancelledJobOut,
    summary="Cancel a background job that makes something of a run",
)
@may_change
def cancel_crawl_job(
    request: AuthenticatedRequest, crawl_id: CrawlId, kind: JobName, run: RunNumber = None
) -> dict[str, Any]:
    """A waiting job leaves the queue at once; a working one ends within seconds, and what it has
    written is removed. 409 if there is none.
    """
    one = get_run(crawl_id, run)
    row = cancel_job_of_run(kinds_of_runs()[kind], one, by=request.user)
    return {"run": one.number, "kind": kind, **cancelled_facts(row)}


@inquiries.post("/{inquiry_id}/cancel", response=InquiryStateOut, summary="Cancel a question")
@may_view
def cancel_asked_question(request: AuthenticatedRequest, inquiry_id: InquiryId) -> dict[str, Any]:
    """A question is answered by a background job: a test fetch, a comparison, a search for copies
    or a preview of rules. Only the user who asked and administrators may cancel it. 409 if it has
    ended.
    """
    inquiry = get_object_or_404(Inquiry, pk=inquiry_id)
    cancel_job(inquiry, by=request.user)
    return _state(inquiry)


@inquiries.post(
    "/{inquiry_id}/ask-again",
    response={202: InquiryStateOut},
    summary="Ask a question again that was cancelled",
)
@may_view
def ask_inquiry_again(
    request: AuthenticatedRequest, inquiry_id: InquiryId
) -> Status[dict[str, Any]]:
    """The new question has another `id`. Until then the same request gets the answer that the
    question was cancelled, and by whom.
    """
    inquiry = get_object_or_404(Inquiry, pk=inquiry_id)
    return Status(202, _state(asked_again(request, inquiry)))


def _state(inquiry: Inquiry) -> dict[str, Any]:
    return {
        "id": inquiry.pk,
        "kind": inquiry.kind,
        "state": inquiry.state,
        "trouble": inquiry.why_failed,
        **cancelled_facts(inquiry),
    }
