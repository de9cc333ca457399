"""`/api/v1/blocklist`, and `/api/v1/crawls/{id}/…` for a crawl's rules: tests of them, their
revisions, exceptions from robots.txt.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from dataclasses import asdict
from typing import Annotated, Any, Literal

from django.db.models import QuerySet
from django.utils import timezone
from ninja import Body, Path, Router, Status
from pydantic import ConfigDict, Field

from crawling.base.errors import BadOrder
from crawling.dashboard.base.api_parameters import (
    LARGEST,
    Changes,
    CrawlId,
    may_change,
    may_view,
)
from crawling.dashboard.base.api_schemas import CrawlDetail
from crawling.dashboard.base.requests import get_crawl
from crawling.dashboard.orders.api_rule_schemas import (
    BlocklistRow,
    ExceptionList,
    ExceptionOut,
    RevisionRow,
    RuleCheckList,
)
from crawling.dashboard.run.api.detail import detail
from crawling.models import BlocklistEntry, OrderRevision, RobotsException
from crawling.orders.scope.blocklist import BlocklistKind
from crawling.runs.crawls.blocklist import add_entry, remove_entry
from crawling.runs.crawls.revisions import revert_edit
from crawling.runs.crawls.robots_exceptions import LONGEST_HOURS, end_exception, except_host
from crawling.runs.crawls.scope_tests import MOST_TESTED, preview_changes, try_scope
from serving.access import AuthenticatedRequest, needs
from serving.listing.columns import row_of
from serving.listing.endpoint import listed
from serving.listing.sources import QueryList
from serving.schemas import Schema

scoping, blocklist = Router(), Router()
Number = Annotated[int, Path(ge=1, le=LARGEST)]
Sentence = Annotated[str, Field(min_length=1, max_length=300)]
may_add_entry, may_remove_entry = (
    needs("crawling.add_blocklistentry"),
    needs("crawling.delete_blocklistentry"),
)
may_except = needs("crawling.add_robotsexception")


class RuleCheckIn(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"urls": ["https://example.org/manual/"], "depth": 1}]},
    )
    urls: Annotated[
        list[Annotated[str, Field(max_length=4096)]], Field(min_length=1, max_length=MOST_TESTED)
    ]
    depth: Annotated[int, Field(ge=0, le=10_000, strict=True)] = Field(
        1, description="links from a start URL"
    )


class HostLossOut(Schema):
    host: str
    removed: int = Field(description="of the URLs checked")
    looked_at: int
    waiting: int


class ExampleOut(Schema):
    url: str
    why: str


class RulesPreviewOut(Schema):
    sentence: str
    queued: int
    looked_at: int = Field(
        description="number of URLs checked; if fewer than queued, the numbers are estimates"
    )
    is_estimate: bool
    removed: int
    at_least: int = Field(description="with `at_most`: bounds of the 95 % confidence interval")
    at_most: int
    hosts: list[HostLossOut] = Field(description="the hosts with the most removed URLs")
    examples: list[ExampleOut]


class NewEntry(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"kind": "domain", "text": "example.net", "reason": "asked for by its owner"}
            ]
        },
    )
    kind: Literal[*map(str, BlocklistKind)]  # type: ignore[valid-type]
    text: Annotated[str, Field(min_length=1, max_length=500)]
    reason: Sentence


class NewException(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"host": "example.org", "reason": "agreed with its owner", "hours": 24}]
        },
    )
    host: Annotated[str, Field(min_length=1, max_length=260)]
    reason: Sentence
    hours: Annotated[float, Field(gt=0, le=LONGEST_HOURS, strict=True)]


@scoping.post(
    "/{crawl_id}/test-scope",
    response=RuleCheckList,
    summary="Test the rules of a crawl on URLs; nothing is fetched",
)
@may_view
def test_crawl_scope(
    request: AuthenticatedRequest, crawl_id: CrawlId, asked: Annotated[RuleCheckIn, Body()]
) -> dict[str, Any]:
    crawl = get_crawl(crawl_id)
    return {
        "revision": crawl.revision,
        "items": [asdict(tested) for tested in try_scope(crawl, asked.urls, depth=asked.depth)],
    }


@scoping.post(
    "/{crawl_id}/preview",
    response=RulesPreviewOut,
    summary="Preview which queued URLs an edit of the rules would remove",
)
@may_view
def preview_crawl_rules(
    request: AuthenticatedRequest, crawl_id: CrawlId, changes: Annotated[Changes, Body()]
) -> dict[str, Any]:
    """Nothing is saved.

    With a long queue the numbers are estimates from a sample.
    """
    found, mistakes = preview_changes(get_crawl(crawl_id), changes)
    if found is None:
        raise BadOrder(mistakes)
    least, most = found.share.bounds
    return {
        "sentence": found.sentence,
        "queued": found.share.total,
        "looked_at": found.share.looked_at,
        "is_estimate": found.share.is_estimate,
        "removed": found.share.about,
        "at_least": least,
        "at_most": most,
        "hosts": [asdict(row) for row in found.hosts],
        "examples": [{"url": url, "why": why} for url, why in found.examples],
    }


@listed(
    scoping,
    "/{crawl_id}/revisions",
    QueryList(RevisionRow, key="number"),
    summary="List edits of the order, latest first",
)
@may_view
def list_crawl_revisions(
    request: AuthenticatedRequest, crawl_id: CrawlId
) -> QuerySet[OrderRevision]:
    return get_crawl(crawl_id).revisions.select_related("by")


@scoping.post(
    "/{crawl_id}/revisions/{revision_number}/revert",
    response=CrawlDetail,
    summary="Revert an edit by a new revision",
)
@may_change
def revert_crawl_revision(
    request: AuthenticatedRequest, crawl_id: CrawlId, revision_number: Number
) -> dict[str, Any]:
    """Fields that the edit changed get their old values; later edits of other fields stay."""
    return detail(revert_edit(get_crawl(crawl_id), revision_number, by=request.user))


@scoping.get(
    "/{crawl_id}/robots-exceptions",
    response=ExceptionList,
    summary="List exceptions from robots.txt, present and past",
)
@may_view
def list_robots_exceptions(request: AuthenticatedRequest, crawl_id: CrawlId) -> dict[str, Any]:
    rows = get_crawl(crawl_id).robots_exceptions.select_related("by")[:200]
    return {"items": [_exception(row) for row in rows]}


@scoping.post(
    "/{crawl_id}/robots-exceptions",
    response={201: ExceptionOut},
    summary="Add an exception from robots.txt, with reason and end",
)
@may_except
def create_robots_exception(
    request: AuthenticatedRequest, crawl_id: CrawlId, asked: Annotated[NewException, Body()]
) -> Status:
    row = except_host(get_crawl(crawl_id), asked.host, asked.reason, asked.hours, by=request.user)
    return Status(201, _exception(row))


@scoping.delete(
    "/{crawl_id}/robots-exceptions/{exception_id}",
    response={204: None},
    summary="End an exception from robots.txt",
)
@may_except
def delete_robots_exception(
    request: AuthenticatedRequest, crawl_id: CrawlId, exception_id: Number
) -> Status:
    end_exception(get_crawl(crawl_id), exception_id, by=request.user)
    return Status(204, None)


@listed(
    blocklist, "", QueryList(BlocklistRow), summary="List entries of the blocklist, latest first"
)
@may_view
def list_blocklist_entries(request: AuthenticatedRequest) -> QuerySet[BlocklistEntry]:
    return BlocklistEntry.objects.select_related("by").filter(removed_at=None)


@blocklist.post(
    "",
    response={201: BlocklistRow},
    summary="Add an entry to the blocklist; running crawls follow within seconds",
)
@may_add_entry
def create_blocklist_entry(
    request: AuthenticatedRequest, asked: Annotated[NewEntry, Body()]
) -> Status:
    return Status(
        201, row_of(BlocklistRow, add_entry(asked.kind, asked.text, asked.reason, by=request.user))
    )


@blocklist.delete("/{entry_id}", response={204: None}, summary="Delete an entry of the blocklist")
@may_remove_entry
def delete_blocklist_entry(request: AuthenticatedRequest, entry_id: Number) -> Status:
    remove_entry(entry_id, by=request.user)
    return Status(204, None)


def _exception(row: RobotsException) -> ExceptionOut:
    return ExceptionOut(
        id=row.pk,
        host=row.host,
        reason=row.reason,
        by=row.by.get_username() if row.by else None,
        created_at=row.created_at,
        expires_at=row.expires_at,
        holds=row.expires_at > timezone.now(),
    )
