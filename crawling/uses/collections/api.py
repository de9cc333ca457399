"""`/api/v1/collections`: crawls and single pages under a name, shared and exported as one."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from django.db.models import QuerySet
from django.http import Http404, StreamingHttpResponse
from django.urls import reverse
from ninja import Body, Path, Query, Router, Status
from pydantic import ConfigDict, Field

from crawling.base.errors import ArchiveTrouble, BadOrder, WrongState
from crawling.dashboard.base.api_parameters import LARGEST, TEXT, may_change, may_view
from crawling.dashboard.base.job_answers import CancellableOut, cancelled_facts
from crawling.dashboard.base.known_addresses import known_address
from crawling.dashboard.run.api.share_links import (
    ShareLinkIn,
    ShareLinkList,
    ShareLinkMade,
    link_row,
)
from crawling.models import Page
from crawling.uses.collections import changes, restoring, share_links
from crawling.uses.collections.changes import CollectionFields
from crawling.uses.collections.jobs import file_of, request_file
from crawling.uses.collections.members import (
    CollectionFigures,
    MemberRow,
    captures_of_collection,
    figures_of,
    hidden_member_count,
    member_rows,
)
from crawling.uses.collections.models import Collection
from crawling.uses.collections.pages import TYPE, collection_file, listed_collections
from crawling.web.addresses import MAX_URL_LENGTH, BadUrl
from serving.access import AuthenticatedRequest
from serving.downloads import send
from serving.listing.endpoint import listed
from serving.listing.sources import FoundList, QueryList
from serving.schemas import Schema

collections = Router()
CollectionId = Annotated[int, Path(ge=1, le=LARGEST)]
Number = Annotated[int, Path(ge=1, le=LARGEST)]
Ids = list[Annotated[int, Field(ge=1, le=LARGEST, strict=True)]]
MOST_AT_ONCE = 500
FILE = {"schema": {"type": "string", "format": "binary"}}


class CollectionIn(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "Town library", "description": "Its sites"}]},
    )
    name: Annotated[str, Field(max_length=changes.LONGEST_NAME, pattern=TEXT)]
    description: Annotated[str, Field(max_length=changes.LONGEST_DESCRIPTION)] = ""
    team: Annotated[str, Field(max_length=80, pattern=TEXT)] = Field(
        "", description="one of the user's; its members change the collection, too"
    )


class CollectionChanges(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"description": "Its sites"}]}
    )
    name: Annotated[str, Field(max_length=changes.LONGEST_NAME, pattern=TEXT)] | None = None
    description: Annotated[str, Field(max_length=changes.LONGEST_DESCRIPTION)] | None = None
    team: Annotated[str, Field(max_length=80, pattern=TEXT)] | None = None


class CollectionOut(Schema):
    id: int
    name: str
    description: str
    owner: str | None = Field(description="null: the command line made it, so all operators may")
    team: str
    created_at: datetime
    changed_at: datetime
    crawls: int
    singles: int = Field(description="single pages")


class CollectionDetail(CollectionOut):
    figures: CollectionFigures
    hidden: int = Field(description="members that are deleted or taken down for now")


class MembersIn(Schema):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"crawls": [1]}]})
    crawls: Annotated[Ids, Field(max_length=MOST_AT_ONCE)] = Field(
        [], description="ids of crawls, each with all its runs"
    )
    pages: Annotated[Ids, Field(max_length=MOST_AT_ONCE)] = Field(
        [], description="ids of stored pages"
    )


class MembersAddedOut(Schema):
    added: list[int] = Field(description="ids of the new members")
    known: int = Field(description="were in it before")
    refused: list[str] = Field(description="a sentence for each crawl that the user may not act on")


class CaptureOut(Schema):
    page: int = Field(description="id of the page")
    crawl: int
    run: int
    fetched_at: datetime
    status: int
    bytes: int


class CaptureList(Schema):
    url: str
    items: list[CaptureOut]


class CollectionFileOut(CancellableOut):
    name: str
    is_ready: bool = Field(description="whether it can be exported")
    is_under_way: bool = Field(description="whether a background job writes one")
    is_outdated: bool = Field(description="the collection has changed since it was asked for")
    asked_at: datetime | None = Field(description="when the one was asked for that is ready")
    bytes: int | None
    pages: int | None
    trouble: str = Field(description="why the latest could not be written, or is no longer given")


def collection_row(found: Collection) -> dict[str, Any]:
    """A collection as JSON. found: one of `listed_collections`."""
    names = ("name", "description", "team", "created_at", "changed_at", "crawls", "singles")
    owner = found.created_by.username if found.created_by else None
    return {"id": found.pk, "owner": owner, **{name: getattr(found, name) for name in names}}


def collection_detail(collection: Collection) -> dict[str, Any]:
    rows = member_rows(collection)
    told = collection_row(listed_collections().get(pk=collection.pk))
    hidden = hidden_member_count(collection, rows)
    return {**told, "figures": asdict(figures_of(rows)), "hidden": hidden}


@listed(
    collections,
    "",
    QueryList(CollectionOut, read=partial(map, collection_row)),
    summary="List collections, latest first",
)
@may_view
def list_collections(request: AuthenticatedRequest) -> QuerySet[Collection]:
    return listed_collections()


@collections.post("", response={201: CollectionDetail}, summary="Create a collection")
@may_change
def create_collection(
    request: AuthenticatedRequest, asked: Annotated[CollectionIn, Body()]
) -> Status[dict[str, Any]]:
    fields = CollectionFields(**asked.model_dump())
    made = changes.create_collection(fields, by=request.user)
    return Status(201, collection_detail(made))


@collections.get("/{collection_id}", response=CollectionDetail, summary="Get a collection")
@may_view
def get_collection(request: AuthenticatedRequest, collection_id: CollectionId) -> dict[str, Any]:
    return collection_detail(changes.get_collection(collection_id))


@collections.patch("/{collection_id}", response=CollectionDetail, summary="Edit a collection")
@may_change
def update_collection(
    request: AuthenticatedRequest,
    collection_id: CollectionId,
    asked: Annotated[CollectionChanges, Body()],
) -> dict[str, Any]:
    """Fields that are not given stay."""
    found = changes.get_collection(collection_id)
    before = CollectionFields(found.name, found.description, found.team)
    fields = before._replace(**asked.model_dump(exclude_none=True))
    return collection_detail(changes.edit_collection(found, fields, by=request.user))


@collections.delete(
    "/{collection_id}",
    response={204: None},
    summary="Delete a collection; its crawls stay, and it can be restored for a day",
)
@may_change
def delete_collection(request: AuthenticatedRequest, collection_id: CollectionId) -> Status[None]:
    restoring.delete_collection(changes.get_collection(collection_id), by=request.user)
    return Status(204, None)


def _member_window(
    rows: list[MemberRow], after: int = 0, most: int = 0
) -> tuple[list[MemberRow], Any]:
    end = after + most
    return rows[after:end], end if len(rows) > end else None


@listed(
    collections,
    "/{collection_id}/members",
    FoundList(MemberRow, goes_by_number=True),
    summary="List the crawls and single pages of a collection",
)
@may_view
def list_collection_members(request: AuthenticatedRequest, collection_id: CollectionId) -> Any:
    return partial(_member_window, member_rows(changes.get_collection(collection_id)))


@collections.post(
    "/{collection_id}/members",
    response=MembersAddedOut,
    summary="Add crawls and stored pages to a collection",
)
@may_change
def add_collection_members(
    request: AuthenticatedRequest,
    collection_id: CollectionId,
    asked: Annotated[MembersIn, Body()],
) -> dict[str, Any]:
    """Only crawls that the user may act on are added; the answer names the others."""
    found = changes.get_collection(collection_id)
    said = changes.add_members(found, **asked.model_dump(), by=request.user)
    return {**said._asdict(), "added": [one.pk for one in said.added]}


@collections.delete(
    "/{collection_id}/members/{member_id}",
    response={204: None},
    summary="Take a crawl or page out of a collection",
)
@may_change
def delete_collection_member(
    request: AuthenticatedRequest, collection_id: CollectionId, member_id: Number
) -> Status[None]:
    found = changes.get_collection(collection_id)
    if not changes.remove_members(found, [member_id], by=request.user):
        raise Http404(f"The collection has no member {member_id}.")
    return Status(204, None)


@collections.get(
    "/{collection_id}/captures",
    response=CaptureList,
    summary="List the captures of an address in a collection, latest first",
)
@may_view
def list_collection_captures(
    request: AuthenticatedRequest,
    collection_id: CollectionId,
    url: Annotated[str, Query(max_length=MAX_URL_LENGTH, pattern=TEXT)],
) -> dict[str, Any]:
    found = changes.get_collection(collection_id)
    try:
        wanted = known_address(url).url
    except BadUrl as error:
        raise BadOrder({"url": f"It is no whole URL: {error}."}) from error
    return {
        "url": wanted,
        "items": [_capture_facts(page) for page in captures_of_collection(found, wanted)],
    }


def _capture_facts(page: Page) -> dict[str, Any]:
    facts = {name: getattr(page, name) for name in ("fetched_at", "status", "bytes")}
    return {"page": page.pk, "crawl": page.run.crawl_id, "run": page.run.number, **facts}


@collections.get(
    "/{collection_id}/wacz",
    response=CollectionFileOut,
    summary="Get the state of a collection's WACZ file",
)
@may_view
def get_collection_wacz(
    request: AuthenticatedRequest, collection_id: CollectionId
) -> dict[str, Any]:
    return _file_facts(changes.get_collection(collection_id))


@collections.post(
    "/{collection_id}/wacz",
    response=CollectionFileOut,
    summary="Have a collection's WACZ file made by a background job",
)
@may_change
def create_collection_wacz(
    request: AuthenticatedRequest, collection_id: CollectionId
) -> dict[str, Any]:
    """409 if nothing of it is archived on this machine."""
    found = changes.get_collection(collection_id)
    try:
        request_file(found, by=request.user)
    except ArchiveTrouble as trouble:
        raise WrongState(str(trouble)) from trouble
    return _file_facts(found)


def _file_facts(collection: Collection) -> dict[str, Any]:
    state = file_of(collection)
    file = state.file
    return {
        "name": state.name,
        "is_ready": file is not None,
        "is_under_way": state.under_way is not None,
        "is_outdated": state.is_outdated,
        "asked_at": file.asked_at if file else None,
        "bytes": file.bytes if file else None,
        "pages": file.pages if file else None,
        "trouble": state.trouble,
        **cancelled_facts(state.cancelled),
    }


@collections.get(
    "/{collection_id}/wacz/export",
    openapi_extra={"responses": {200: {"description": "A WACZ file", "content": {TYPE: FILE}}}},
    summary="Export a collection as a WACZ file",
)
@may_change
def export_collection_wacz(
    request: AuthenticatedRequest, collection_id: CollectionId
) -> StreamingHttpResponse:
    """404 until the file is made. Only for users who may act on each of its crawls."""
    try:
        return send(collection_file(changes.get_collection(collection_id), by=request.user))
    except ArchiveTrouble as trouble:
        raise Http404(str(trouble)) from trouble


@collections.get(
    "/{collection_id}/share-links",
    response=ShareLinkList,
    summary="The collection's share links",
)
@may_change
def list_collection_links(
    request: AuthenticatedRequest, collection_id: CollectionId
) -> dict[str, Any]:
    """Expired links are not listed."""
    collection = changes.get_collection(collection_id)
    changes.require_change(request.user, collection)
    found = share_links.links_of(collection)
    alive = share_links.open_link_ids(found)
    return {"items": [link_row(link, is_open=link.pk in alive) for link in found]}


@collections.post(
    "/{collection_id}/share-links",
    response={201: ShareLinkMade},
    summary="Create a link that shows the collection without a log-in",
)
@may_change
def create_collection_link(
    request: AuthenticatedRequest,
    collection_id: CollectionId,
    asked: Annotated[ShareLinkIn, Body()],
) -> Status[dict[str, Any]]:
    found = changes.get_collection(collection_id)
    link, token = share_links.create_link(found, days=asked.days, by=request.user)
    url = request.build_absolute_uri(reverse("shared-collection", args=[token]))
    return Status(201, {**link_row(link), "url": url})


@collections.delete(
    "/{collection_id}/share-links/{link_id}",
    response={204: None},
    summary="Revoke a share link of a collection",
)
@may_change
def delete_collection_link(
    request: AuthenticatedRequest, collection_id: CollectionId, link_id: Number
) -> Status[None]:
    share_links.revoke_link(changes.get_collection(collection_id), link_id, by=request.user)
    return Status(204, None)


ROUTERS = (("/collections", collections, "results"),)
