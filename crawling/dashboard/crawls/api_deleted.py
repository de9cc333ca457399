"""`/api/v1/deleted`: what was deleted and can be restored."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from datetime import datetime
from typing import Annotated, Any

from ninja import Path, Query, Router, Schema, Status
from pydantic import Field

from crawling.dashboard.base.api_parameters import LARGEST, TEXT, may_view
from crawling.dashboard.base.recently_deleted import deleted_rows, remove_for_good, restore
from crawling.models import DeletedKind
from serving.access import AuthenticatedRequest

deleted = Router()
ItemId = Annotated[int, Path(ge=1, le=LARGEST, description="`id` of the list")]
Kind = Annotated[str, Path(max_length=20, pattern=TEXT, description=", ".join(DeletedKind))]


class DeletedOut(Schema):
    kind: DeletedKind
    id: int = Field(description="of the crawl, of the run, or of the deleted item")
    name: str
    deleted_at: datetime
    restorable_until: datetime = Field(description="end of the time in which it can be restored")


class DeletedList(Schema):
    items: list[DeletedOut] = Field(description="the latest deletion first")


class RestoredOut(Schema):
    kind: DeletedKind
    name: str


@deleted.get("", response=DeletedList, summary="List deleted items that can be restored")
@may_view
def list_deleted_items(request: AuthenticatedRequest) -> dict[str, Any]:
    """At most 200 of each kind. Views are those of the user."""
    return {"items": deleted_rows(request.user)}


@deleted.post("/{kind}/{item_id}/restore", response=RestoredOut, summary="Restore a deleted item")
@may_view
def restore_deleted_item(
    request: AuthenticatedRequest, kind: Kind, item_id: ItemId
) -> dict[str, Any]:
    """Requires the permission to delete it. 409 where another item has its name or place.

    A restored template, view, schedule or entry of the blocklist has a new id.
    """
    return {"kind": kind, "name": restore(kind, item_id, by=request.user)}


@deleted.delete("/{kind}/{item_id}", response={204: None}, summary="Delete a deleted item for good")
@may_view
def delete_deleted_item(
    request: AuthenticatedRequest,
    kind: Kind,
    item_id: ItemId,
    name: Annotated[str, Query(max_length=700, pattern=TEXT, description="its name, in full")] = "",
) -> Status:
    """Requires the permission to delete it, and its name, as this cannot be undone."""
    remove_for_good(kind, item_id, name=name, by=request.user)
    return Status(204, None)
