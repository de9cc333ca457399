"""`/api/v1/crawls`: list, create, read, edit and delete crawls; `/api/v1/deleted`: deleted items
that can be restored.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Body, Header, Path, Query, Router, Status
from pydantic import Field

from crawling.dashboard.base import requests
from crawling.dashboard.base.api_parameters import (
    LARGEST,
    TEXT,
    Changes,
    CrawlId,
    Cursor,
    Limit,
    Order,
    Since,
    Text,
    Until,
    may_add,
    may_change,
    may_delete,
    may_view,
)
from crawling.dashboard.base.api_schemas import CrawlDetail, CrawlListOut, RunPage
from crawling.dashboard.base.recently_deleted import (
    deleted_rows,
    remove_for_good,
    restorable_kinds,
    restore,
)
from crawling.dashboard.base.time_range import TimeRange
from crawling.dashboard.crawls.filter import ORDERS, STATES, CrawlFilter
from crawling.dashboard.crawls.listing import crawls_and_next, sortable_filter
from crawling.dashboard.run.api.detail import detail
from crawling.dashboard.run.run_list import list_runs
from crawling.runs.crawls.creation import create_idempotently
from crawling.runs.crawls.revisions import edit_crawl
from crawling.runs.housekeeping import deletion
from crawling.runs.wait_reason import waiting_runs
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

crawls = Router()
Key = Annotated[str, Header(alias="Idempotency-Key", max_length=200, pattern=r"^[\x20-\x7e]*$")]
State = Annotated[Literal["", *STATES], Query(description="only crawls in this state")]  # type: ignore[valid-type]
Sort = Annotated[
    Literal[*ORDERS],  # type: ignore[valid-type]
    Query(
        description="field to sort by; `-` for descending order. Where too many crawls match to "
        "add up their counts, they are sorted by age"
    ),
]
deleted = Router()
ItemId = Annotated[int, Path(ge=1, le=LARGEST, description="`id` of the list")]
KINDS = ", ".join(restorable_kinds())
Kind = Annotated[str, Path(max_length=20, pattern=TEXT, description=KINDS)]


@crawls.get("", response=CrawlListOut, summary="List crawls, the newest first")
@may_view
def list_crawls(
    request: AuthenticatedRequest,
    state: State = "",
    q: Text = "",
    tag: Text = "",
    owner: Text = "",
    team: Text = "",
    since: Since = None,
    until: Until = None,
    sort: Sort = "-made",
    cursor: Cursor = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """`q` is a part of the name or of a seed, `tag` a tag of the crawl, `owner` the name of the
    user who created it, `team` the name of its team; `since` and `until` limit the first fetch of
    the latest run.
    """
    waiting = waiting_runs()
    rows, following = crawls_and_next(
        sortable_filter(
            CrawlFilter(state, q.strip(), tag, sort, cursor, TimeRange(since, until), owner, team),
            waiting,
        ),
        waiting,
        limit,
    )
    return {"items": [view.as_dict() for _, view in rows], "next": following}


@crawls.post(
    "",
    response={201: CrawlDetail, 200: CrawlDetail},
    summary="Create a crawl; it is a draft until it is started",
)
@may_add
def create_crawl(
    request: AuthenticatedRequest, order: Annotated[Order, Body()], idempotency_key: Key = ""
) -> Status:
    """With an `Idempotency-Key` the request may be repeated: it creates one crawl, and the answer
    is 200 from the second time on. The same key with another order is refused."""
    crawl, is_new = create_idempotently(order, by=request.user, idempotency_key=idempotency_key)
    return Status(201 if is_new else 200, detail(crawl))


@crawls.get(
    "/{crawl_id}", response=CrawlDetail, summary="Get a crawl with its counts, state and reason"
)
@may_view
def get_crawl(request: AuthenticatedRequest, crawl_id: CrawlId) -> dict[str, Any]:
    return detail(requests.get_crawl(crawl_id))


@crawls.patch(
    "/{crawl_id}",
    response=CrawlDetail,
    summary="Edit name, rules, limits, delay, weights or Max, even while it runs",
)
@may_change
def update_crawl(
    request: AuthenticatedRequest, crawl_id: CrawlId, changes: Annotated[Changes, Body()]
) -> dict[str, Any]:
    """An active run follows within seconds.

    A delay that has already begun at a host does not change. With a `revision` that is no longer
    the latest, nothing is changed (409).
    """
    return detail(edit_crawl(requests.get_crawl(crawl_id), changes, by=request.user))


@crawls.delete(
    "/{crawl_id}", response={204: None}, summary="Delete a crawl with all that it has found"
)
@may_delete
def delete_crawl(request: AuthenticatedRequest, crawl_id: CrawlId) -> Status:
    """Only a draft, or a crawl whose run has ended. For 24 hours it can be restored: `/deleted`."""
    deletion.delete_crawl(requests.get_crawl(crawl_id), by=request.user)
    return Status(204, None)


@crawls.get("/{crawl_id}/runs", response=RunPage, summary="List runs of a crawl, latest first")
@may_view
def list_crawl_runs(
    request: AuthenticatedRequest, crawl_id: CrawlId, cursor: Cursor = None, limit: Limit = 50
) -> dict[str, Any]:
    views, following = list_runs(requests.get_crawl(crawl_id), before=cursor, limit=limit)
    return {"items": [asdict(view) for view in views], "next": following}


class DeletedOut(Schema):
    kind: str = Field(description=KINDS)
    id: int = Field(description="of the thing; of small ones, of the deleted item")
    name: str
    deleted_at: datetime
    restorable_until: datetime = Field(description="end of the time in which it can be restored")


class DeletedList(Schema):
    items: list[DeletedOut] = Field(description="the latest deletion first")


class RestoredOut(Schema):
    kind: str = Field(description=KINDS)
    name: str


@deleted.get("", response=DeletedList, summary="List deleted items that can be restored")
@may_view
def list_deleted_items(request: AuthenticatedRequest) -> dict[str, Any]:
    """At most 200 of each kind. Views are those of the user; alerts are for administrators."""
    return {"items": deleted_rows(request.user)}


@deleted.post("/{kind}/{item_id}/restore", response=RestoredOut, summary="Restore a deleted item")
@may_view
def restore_deleted_item(
    request: AuthenticatedRequest, kind: Kind, item_id: ItemId
) -> dict[str, Any]:
    """Requires the permission to delete the item. 409 if another item has its name or place.

    A restored template, view, schedule or entry of the blocklist has a new id.
    """
    return {"kind": kind, "name": restore(kind, item_id, by=request.user)}


@deleted.delete(
    "/{kind}/{item_id}", response={204: None}, summary="Delete a deleted item permanently"
)
@may_view
def delete_deleted_item(
    request: AuthenticatedRequest,
    kind: Kind,
    item_id: ItemId,
    name: Annotated[str, Query(max_length=700, pattern=TEXT, description="its name, in full")] = "",
) -> Status:
    """Requires the permission to delete the item, and its name, since this cannot be undone."""
    remove_for_good(kind, item_id, name=name, by=request.user)
    return Status(204, None)
