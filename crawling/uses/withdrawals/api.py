"""`/api/v1/crawls/{id}/withdrawals`: withdrawn pages."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from django.db.models import QuerySet
from ninja import Body, Path, Router, Status
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import LARGEST, CrawlId, may_view
from crawling.dashboard.base.requests import get_crawl, get_run
from crawling.models import Withdrawal
from crawling.orders.scope.url_rules import UrlRuleKind
from crawling.uses.withdrawals.withdrawing import (
    WithdrawalPreview,
    remove_records_now,
    undo_withdrawal,
    withdraw_pages,
    withdrawal_preview,
)
from serving.access import AuthenticatedRequest, needs
from serving.listing.columns import Column, row_of
from serving.listing.endpoint import listed
from serving.listing.sources import QueryList
from serving.schemas import Schema

withdrawals = Router()
may_withdraw = needs("crawling.delete_crawljob")
Number = Annotated[int, Path(ge=1, le=LARGEST)]
EXAMPLE = {"kind": "page", "text": "https://example.org/people/miller"}


class PreviewIn(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{**EXAMPLE}]})
    kind: Literal[*map(str, UrlRuleKind)]  # type: ignore[valid-type]
    text: Annotated[str, Field(min_length=1, max_length=5000)] = Field(
        description="the URL, a regular expression of RE2, or the host"
    )
    run: Annotated[int, Field(ge=1, le=2**31 - 1, strict=True)] | None = Field(
        None, description="number of the run; null: all runs"
    )


class WithdrawalIn(PreviewIn):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{**EXAMPLE, "reason": "asked for by Mrs Miller"}]},
    )
    reason: Annotated[str, Field(min_length=1, max_length=300)]
    at_once: bool = Field(
        False, description="rewrite the files now; it cannot be undone then. Otherwise after 24 h"
    )


@dataclass(frozen=True)
class WithdrawalRow:
    id: int
    kind: str
    text: str
    run: Annotated[int | None, Column("null: all runs", of="run.number")]
    reason: str
    by: Annotated[str, Column(of="by.username")]
    pages: int
    asked_at: datetime
    rewrite_at: Annotated[datetime, Column("until then it can be undone")]
    finished_at: Annotated[datetime | None, Column("when all files were rewritten")]
    state: Literal["withdrawn", "rewriting", "removed", "undone"]
    trouble: Annotated[str, Column("what the rewriting waits for")]


@listed(
    withdrawals,
    "/{crawl_id}/withdrawals",
    QueryList(WithdrawalRow),
    summary="List what was taken down (withdrawals), latest first",
)
@may_view
def list_withdrawals(request: AuthenticatedRequest, crawl_id: CrawlId) -> QuerySet[Withdrawal]:
    return Withdrawal.objects.filter(crawl=get_crawl(crawl_id)).select_related("by", "run")


@withdrawals.post(
    "/{crawl_id}/withdrawals/preview",
    response=WithdrawalPreview,
    summary="Preview which stored pages would be taken down; nothing is",
)
@may_withdraw
def preview_withdrawal(
    request: AuthenticatedRequest, crawl_id: CrawlId, asked: Annotated[PreviewIn, Body()]
) -> WithdrawalPreview:
    crawl = get_crawl(crawl_id)
    run = get_run(crawl_id, asked.run) if asked.run else None
    return withdrawal_preview(crawl, run, kind=asked.kind, text=asked.text)


@withdrawals.post(
    "/{crawl_id}/withdrawals",
    response={201: WithdrawalRow},
    summary="Take down stored pages: a page, a pattern or a host",
)
@may_withdraw
def create_withdrawal(
    request: AuthenticatedRequest, crawl_id: CrawlId, asked: Annotated[WithdrawalIn, Body()]
) -> Status[WithdrawalRow]:
    """409 while a run is running: pause it first."""
    crawl = get_crawl(crawl_id)
    run = get_run(crawl_id, asked.run) if asked.run else None
    facts = asked.model_dump(exclude={"run"})
    return Status(201, row_of(WithdrawalRow, withdraw_pages(crawl, run, **facts, by=request.user)))


@withdrawals.post(
    "/{crawl_id}/withdrawals/{withdrawal_id}/rewrite",
    response=WithdrawalRow,
    summary="Rewrite the files of a withdrawal now",
)
@may_withdraw
def rewrite_withdrawal(
    request: AuthenticatedRequest, crawl_id: CrawlId, withdrawal_id: Number
) -> WithdrawalRow:
    return row_of(
        WithdrawalRow, remove_records_now(get_crawl(crawl_id), withdrawal_id, by=request.user)
    )


@withdrawals.delete(
    "/{crawl_id}/withdrawals/{withdrawal_id}",
    response=WithdrawalRow,
    summary="Undo a withdrawal whose files are not rewritten yet",
)
@may_withdraw
def delete_withdrawal(
    request: AuthenticatedRequest, crawl_id: CrawlId, withdrawal_id: Number
) -> WithdrawalRow:
    return row_of(
        WithdrawalRow, undo_withdrawal(get_crawl(crawl_id), withdrawal_id, by=request.user)
    )


ROUTERS = (("/crawls", withdrawals, "results"),)
