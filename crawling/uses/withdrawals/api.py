"""`/api/v1/crawls/{id}/withdrawals`: pages that are withdrawn."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Body, Path, Router, Status
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import LARGEST, CrawlId, Cursor, Limit, may_view
from crawling.dashboard.base.requests import get_crawl, get_run
from crawling.models import Withdrawal
from crawling.orders.scope.url_rules import UrlRuleKind
from crawling.uses.withdrawals.withdrawing import preview, remove_now, undo, withdraw
from serving.access import AuthenticatedRequest, needs
from serving.paging import page_of
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


class CrawlCopiesOut(Schema):
    id: int
    name: str
    pages: int = Field(
        description="those with such an address, or with the payload of a page to withdraw"
    )


class WithdrawalPreviewOut(Schema):
    kind: str
    text: str
    pages: int
    examples: list[str] = Field(description="some of their URLs")
    files: int = Field(description="archive files that are read for their records")
    file_bytes: int
    sharing: int = Field(description="other pages with the same payload, which they keep")
    other_crawls: list[CrawlCopiesOut] = Field(
        description="other crawls with such pages, which stay stored and searchable until they are "
        "withdrawn there; those with most pages first"
    )


class WithdrawalOut(Schema):
    id: int
    kind: str
    text: str
    run: int | None = Field(description="null: all runs")
    reason: str
    by: str
    pages: int
    asked_at: datetime
    rewrite_at: datetime = Field(description="until then it can be undone")
    finished_at: datetime | None = Field(description="when all files were rewritten")
    state: Literal["withdrawn", "rewriting", "removed", "undone"]
    trouble: str = Field(description="what the rewriting waits for")


class WithdrawalPage(Schema):
    items: list[WithdrawalOut]
    next: int | None


@withdrawals.get(
    "/{crawl_id}/withdrawals", response=WithdrawalPage, summary="List withdrawals, latest first"
)
@may_view
def list_withdrawals(
    request: AuthenticatedRequest, crawl_id: CrawlId, cursor: Cursor = None, limit: Limit = 50
) -> dict[str, Any]:
    found = Withdrawal.objects.filter(crawl=get_crawl(crawl_id)).select_related("by", "run")
    rows, following = page_of(found if cursor is None else found.filter(pk__lt=cursor), limit)
    return {"items": [withdrawal_row(row) for row in rows], "next": following}


@withdrawals.post(
    "/{crawl_id}/withdrawals/preview",
    response=WithdrawalPreviewOut,
    summary="Preview which stored pages a withdrawal concerns; nothing is withdrawn",
)
@may_withdraw
def preview_withdrawal(
    request: AuthenticatedRequest, crawl_id: CrawlId, asked: Annotated[PreviewIn, Body()]
) -> dict[str, Any]:
    crawl = get_crawl(crawl_id)
    run = get_run(crawl_id, asked.run) if asked.run else None
    return asdict(preview(crawl, run, kind=asked.kind, text=asked.text))


@withdrawals.post(
    "/{crawl_id}/withdrawals",
    response={201: WithdrawalOut},
    summary="Withdraw stored pages: a page, a pattern or a host",
)
@may_withdraw
def create_withdrawal(
    request: AuthenticatedRequest, crawl_id: CrawlId, asked: Annotated[WithdrawalIn, Body()]
) -> Status[dict[str, Any]]:
    """409 while a run is being worked at: pause it first."""
    crawl = get_crawl(crawl_id)
    run = get_run(crawl_id, asked.run) if asked.run else None
    facts = asked.model_dump(exclude={"run"})
    return Status(201, withdrawal_row(withdraw(crawl, run, **facts, by=request.user)))


@withdrawals.post(
    "/{crawl_id}/withdrawals/{withdrawal_id}/rewrite",
    response=WithdrawalOut,
    summary="Rewrite the files of a withdrawal now",
)
@may_withdraw
def rewrite_withdrawal(
    request: AuthenticatedRequest, crawl_id: CrawlId, withdrawal_id: Number
) -> dict[str, Any]:
    return withdrawal_row(remove_now(get_crawl(crawl_id), withdrawal_id, by=request.user))


@withdrawals.delete(
    "/{crawl_id}/withdrawals/{withdrawal_id}",
    response=WithdrawalOut,
    summary="Undo a withdrawal whose files are not rewritten yet",
)
@may_withdraw
def delete_withdrawal(
    request: AuthenticatedRequest, crawl_id: CrawlId, withdrawal_id: Number
) -> dict[str, Any]:
    return withdrawal_row(undo(get_crawl(crawl_id), withdrawal_id, by=request.user))


def withdrawal_row(one: Withdrawal) -> dict[str, Any]:
    names = ("kind", "text", "reason", "pages", "asked_at", "rewrite_at", "finished_at", "state")
    return {
        "id": one.pk,
        "run": one.run.number if one.run else None,
        "by": one.by.username if one.by else "",
        "trouble": one.trouble,
        **{name: getattr(one, name) for name in names},
    }


ROUTERS = (("/crawls", withdrawals, "results"),)
