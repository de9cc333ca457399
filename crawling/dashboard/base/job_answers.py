"""Answers of endpoints about background jobs and inquiries; and the endpoints that show the
progress of a run's job, and request it.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from inspect import signature
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.http import HttpResponse
from ninja import Router, Status
from pydantic import Field

from crawling.base.errors import ComparisonFailure, CrawlError
from crawling.dashboard.base.api_parameters import CrawlId, RunNumber, may_change, may_view
from crawling.dashboard.base.requests import get_run
from crawling.datasets.job_tables import TablesOfRun
from crawling.datasets.parts import MOST_BEHIND
from crawling.jobs.kinds import state_of
from crawling.models import BackgroundJob, Inquiry, Run
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

#: in seconds, as text for the header
RETRY_AFTER = "1"


class CancellableOut(Schema):
    """Whether a user has cancelled the background job."""

    cancelled_at: datetime | None
    cancelled_by: str = Field(description="user; empty: the command line, if it was cancelled")


def cancelled_facts(row: BackgroundJob | None) -> dict[str, Any]:
    by = row and row.cancelled_by
    return {
        "cancelled_at": row and row.cancelled_at,
        "cancelled_by": by.username if by else "",
    }


def job_facts(job: BackgroundJob) -> dict[str, Any]:
    """Facts about a job of any kind. Each schema picks its own fields from them."""
    return {
        "id": job.pk,
        "run": job.run.number if job.run else None,
        "by": job.by.username if job.by else "",
        "state": state_of(job),
        "asked_at": job.asked_at,
        "ended_at": job.ended_at,
        "trouble": job.trouble,
        **cancelled_facts(job),
    }


class InquiryOut(Schema):
    """A question for a background job."""

    id: int = Field(description="for `/api/v1/inquiries/{id}/cancel`")
    state: str = Field(description="waiting or working")
    result: str = Field(description="path of the answer; request it after `Retry-After`")


def open_inquiry(response: HttpResponse, inquiry: Inquiry, result: str) -> Status[dict[str, Any]]:
    """Answer that the request was accepted, and that the result will be at the path `result`."""
    response["Retry-After"] = RETRY_AFTER
    return Status(202, {"id": inquiry.pk, "state": inquiry.state, "result": result})


def answer_of(
    request: AuthenticatedRequest,
    response: HttpResponse,
    inquiry: Inquiry,
    found: object,
    *,
    failure: Callable[[str], CrawlError] = ComparisonFailure,
) -> Status[Any]:
    """The answer that a job has found. While it is None, the response says when to send the same
    request again.

    Raises `failure` with the reason why there is no answer.
    """
    if found is not None:
        return Status(200, found)
    if inquiry.why_failed:
        raise failure(inquiry.why_failed)
    return open_inquiry(response, inquiry, request.get_full_path())


class TablesOut(CancellableOut):
    state: str = Field(
        description="of the latest job: none, waiting, working, computed, cancelled or failed"
    )
    trouble: str = Field(description="why the latest job failed")
    waits: str = Field(description="why no background job computes it, if one has told")
    computed_at: datetime | None = Field(
        description="of what the lists show; null: there is nothing to be shown"
    )
    newer_pages: int = Field(
        description=f"pages that were fetched since; {MOST_BEHIND:,}: so many or more"
    )


def _tables_facts(of: TablesOfRun, out: type[TablesOut], run: Run) -> dict[str, Any]:
    """The facts, with the counts of the job's tables. The counts are 0 if the job has made no
    tables.
    """
    told, none = of.state(run), dict.fromkeys(out.model_fields, 0)
    names = ("state", "trouble", "waits", "computed_at", "newer_pages")
    facts = {name: getattr(told, name) for name in names}
    counts = told.tables.counts if told.tables else {}
    return {**none, **counts, **facts, **cancelled_facts(told.job)}


class Operation(NamedTuple):
    """An operation in the description of the API."""

    name: str
    summary: str
    about: str = ""


def job_endpoints(
    router: Router,
    path: str,
    out: type[Schema],
    tell: Callable[[Run], Mapping[str, Any]],
    ask: Callable[[Run, User], object],
    *,
    told: Operation,
    asked: Operation,
    ask_path: str = "",
    of_crawl: bool = False,
) -> None:
    """Add two endpoints to a router: GET returns the progress of a run's job; POST, at `ask_path`
    below that path, requests the job.

    tell: the fields of `out`. ask: raises CrawlError and RedisError. of_crawl: whether the job is
    for all runs, so that a request names no run.
    """

    def get(request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None) -> Any:
        return tell(get_run(crawl_id, run))

    def post(request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None) -> Any:
        one = get_run(crawl_id, run)
        ask(one, request.user)
        return Status(202, tell(one))

    for view, words in ((get, told), (post, asked)):
        view.__name__, view.__doc__ = words.name, words.about or None
        if of_crawl:
            parameters = [*signature(view).parameters.values()][:-1]
            vars(view)["__signature__"] = signature(view).replace(parameters=parameters)
    router.get(path, response=out, summary=told.summary)(may_view(get))
    router.post(path + ask_path, response={202: out}, summary=asked.summary)(may_change(post))


def tables_endpoints(
    router: Router,
    path: str,
    of: TablesOfRun,
    out: type[TablesOut] = TablesOut,
    *,
    told: Operation,
    asked: Operation,
) -> None:
    """Add the same endpoints for the tables that a job makes. They are requested at `ask_at` of the
    tables. out: has the counts of the job, if there are any.
    """
    job_endpoints(
        router,
        path,
        out,
        partial(_tables_facts, of, out),
        lambda run, user: of.ask(run, by=user),
        told=told,
        asked=asked,
        ask_path=f"/{{crawl_id}}/{of.ask_at}".removeprefix(path),
    )
