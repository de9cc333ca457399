"""`/api/v1/extractors`: rules under a name, which several crawls use."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated, Any

from django.db.models import QuerySet
from ninja import Body, Path, Router, Status
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import (
    LARGEST,
    may_add,
    may_change,
    may_delete,
    may_view,
)
from crawling.orders.sections.reading import MAX_RULES
from crawling.uses.extraction.extractors import (
    ExtractorRow,
    edit_extractor,
    extractor_rows,
    extractors,
    find_extractor,
    give_newest,
    remove_extractor,
    save_extractor,
)
from crawling.uses.extraction.models import Extractor
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import listed
from serving.listing.sources import QueryList
from serving.schemas import Schema

named = Router()
ExtractorId = Annotated[int, Path(ge=1, le=LARGEST)]
Rules = Annotated[
    dict[str, str],
    Field(
        min_length=1,
        max_length=MAX_RULES,
        description="CSS selectors by the names of fields, as `extract` of an order has them",
    ),
]


class NewExtractor(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "Products", "rules": {"price": "b::price"}}]},
    )
    name: Annotated[str, Field(max_length=200)]
    rules: Rules


class NewRevision(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"rules": {"price": "b::price"}}]}
    )
    rules: Rules
    revision: Annotated[int, Field(ge=1, strict=True)] | None = Field(
        None, description="on which the edit is based: 409 if there is a newer one"
    )


class ExtractorRevisionOut(Schema):
    number: int
    rules: dict[str, str]
    by: str = Field(description="user; empty: the command line")
    at: datetime


class ExtractorOut(Schema):
    id: int
    name: str
    revision: int
    rules: dict[str, str]
    crawls: int = Field(description="whose orders have its rules, of whatever revision")
    older: int = Field(description="of them, those that have rules of an older revision")
    owner: str
    changed_at: datetime
    revisions: list[ExtractorRevisionOut] = Field(description="the latest 50, the newest first")


class GivenOut(Schema):
    crawls: int = Field(description="whose orders have the newest revision now")
    refused: list[str] = Field(description="sentences about crawls that could not be edited")


#: the most revisions of an extractor in an answer
REVISIONS = 50


def _extractor_json(one: Extractor) -> dict[str, Any]:
    (row,) = extractor_rows([one])
    revisions = [
        {"number": kept.number, "rules": kept.rules, "by": str(kept.by or ""), "at": kept.at}
        for kept in one.revisions.select_related("by")[:REVISIONS]
    ]
    return {**vars(row), "revisions": revisions}


@listed(
    named,
    "",
    QueryList(ExtractorRow, is_oldest_first=True, read=extractor_rows),
    summary="List extractors, with how many crawls use each",
)
@may_view
def list_extractors(request: AuthenticatedRequest) -> QuerySet[Extractor]:
    """In the order in which they were made."""
    return extractors().order_by("pk")


@named.post("", response={201: ExtractorOut}, summary="Keep extraction rules under a name")
@may_add
def create_extractor(
    request: AuthenticatedRequest, asked: Annotated[NewExtractor, Body()]
) -> Status:
    made = save_extractor(asked.name, asked.rules, by=request.user)
    return Status(201, _extractor_json(made))


@named.get("/{extractor_id}", response=ExtractorOut, summary="Get an extractor")
@may_view
def get_extractor(request: AuthenticatedRequest, extractor_id: ExtractorId) -> dict[str, Any]:
    return _extractor_json(find_extractor(extractor_id))


@named.patch("/{extractor_id}", response=ExtractorOut, summary="Edit an extractor")
@may_change
def update_extractor(
    request: AuthenticatedRequest,
    extractor_id: ExtractorId,
    asked: Annotated[NewRevision, Body()],
) -> dict[str, Any]:
    """The rules become its next revision. Crawls keep the revision that their orders name."""
    one = find_extractor(extractor_id)
    return _extractor_json(
        edit_extractor(one, asked.rules, by=request.user, revision=asked.revision)
    )


@named.delete(
    "/{extractor_id}", response={204: None}, summary="Delete an extractor; crawls keep its rules"
)
@may_delete
def delete_extractor(request: AuthenticatedRequest, extractor_id: ExtractorId) -> Status:
    remove_extractor(find_extractor(extractor_id), by=request.user)
    return Status(204, None)


@named.post(
    "/{extractor_id}/crawls",
    response=GivenOut,
    summary="Let crawls that use an extractor have its newest revision",
)
@may_change
def give_newest_revision(
    request: AuthenticatedRequest, extractor_id: ExtractorId
) -> dict[str, Any]:
    """Those on which the user acts, 200 at a time. Runs that are over keep their fields."""
    done, refused = give_newest(find_extractor(extractor_id), by=request.user)
    return {"crawls": done, "refused": refused}
