"""`/api/crawls/{id}/reports/changes`: two runs compared."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's decorator.

from dataclasses import asdict
from typing import Annotated, Any, Literal

from ninja import Query, Router, Schema
from pydantic import Field

from crawling.api.parameters import TEXT, CrawlId, Limit, RunNumber, Text
from crawling.api.permissions import Asking, may_view
from crawling.comparing import KINDS, differences, summary_of
from crawling.cursors import run_of

reports = Router()
Kind = Annotated[Literal["", *KINDS], Query(description="only pages of which this became")]  # type: ignore[valid-type]
Against = Annotated[int, Query(ge=1, le=2**31 - 1, description="the number of the earlier run")]
After = Annotated[str, Query(max_length=4000, pattern=TEXT, description="`next` of the page before")]


class ChangeCounts(Schema):
    """flipped: answered with another status; changed: with other content."""

    added: int
    gone: int
    changed: int
    flipped: int
    same: int


class HostChanges(Schema):
    host: str
    counts: ChangeCounts


class ChangeSummary(Schema):
    counts: ChangeCounts
    hosts: list[HostChanges] = Field(description="those that differ most")
    more_hosts: int


class ChangeOut(Schema):
    kind: str
    url: str
    old_id: int | None
    new_id: int | None
    old_status: int | None
    new_status: int | None
    old_title: str | None
    new_title: str | None
    old_bytes: int | None
    new_bytes: int | None


class ChangePage(Schema):
    summary: ChangeSummary
    items: list[ChangeOut]
    next: str | None


@reports.get("/{crawl_id}/reports/changes", response=ChangePage, summary="Two runs compared: pages added, gone, changed, flipped")
@may_view
def changes(
    request: Asking,
    crawl_id: CrawlId,
    against: Against,
    run: RunNumber = None,
    kind: Kind = "",
    host: Text = "",
    cursor: After = "",
    limit: Limit = 50,
) -> dict[str, Any]:
    old, new = run_of(crawl_id, against), run_of(crawl_id, run)
    rows, following = differences(old, new, kind=kind, host=host, after=cursor, limit=limit)
    return {"summary": asdict(summary_of(old, new)), "items": [asdict(row) for row in rows], "next": following}
