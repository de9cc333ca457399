"""`/api/v1/crawls/{id}/seed-sources`: a folder and feeds that give a crawl seeds."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Body, Path, Router, Status
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import LARGEST, CrawlId, may_change, may_view
from crawling.dashboard.base.requests import get_crawl
from crawling.models import SeedSource, SeedSourceKind
from crawling.uses.seed_sources import sources
from crawling.uses.seed_sources.sources import LONGEST, SeedSourceFields
from crawling.web.addresses import MAX_URL_LENGTH
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

seed_sources = Router()
Number = Annotated[int, Path(ge=1, le=LARGEST)]
Kind = Literal[*SeedSourceKind.values]  # type: ignore[valid-type]


class SeedSourceIn(Schema):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"kind": "feed", "url": "https://example.org/feed.xml", "minutes": 60}]
        },
    )
    kind: Kind
    url: Annotated[str, Field(max_length=MAX_URL_LENGTH)] = Field(
        "", description="of a feed: RSS, Atom or JSON Feed; empty for the folder"
    )
    minutes: Annotated[int, Field(ge=1, le=LONGEST, strict=True)] = Field(
        60, description="from one reading to the next; at least 5 for a feed"
    )
    resume: bool = Field(
        True,
        strict=True,
        description="resume the latest run for new start URLs if it has finished, unless it was "
        "stopped",
    )


class SeedSourceOut(Schema):
    id: int
    kind: str
    url: str = Field(description="of a feed")
    folder: str = Field(description="of the crawl, on machines that run background jobs")
    minutes: int = Field(description="from one reading to the next")
    resume: bool
    by: str
    created_at: datetime
    read_at: datetime | None = Field(description="the latest reading")
    next_at: datetime
    added: int = Field(description="start URLs, by all readings")
    note: str = Field(description="what was wrong with the latest reading, a sentence")


class SeedSourceList(Schema):
    items: list[SeedSourceOut]


@seed_sources.get(
    "/{crawl_id}/seed-sources", response=SeedSourceList, summary="List the sources of start URLs"
)
@may_view
def list_seed_sources(request: AuthenticatedRequest, crawl_id: CrawlId) -> dict[str, Any]:
    found = SeedSource.objects.filter(crawl=get_crawl(crawl_id))
    return {"items": [source_row(one) for one in found.select_related("created_by", "crawl")]}


@seed_sources.post(
    "/{crawl_id}/seed-sources",
    response={201: SeedSourceOut},
    summary="Read a folder or a feed at intervals, and add what it names as start URLs",
)
@may_change
def create_seed_source(
    request: AuthenticatedRequest, crawl_id: CrawlId, asked: Annotated[SeedSourceIn, Body()]
) -> Status[dict[str, Any]]:
    fields = SeedSourceFields(**asked.model_dump())
    source = sources.create_source(get_crawl(crawl_id), fields, by=request.user)
    return Status(201, source_row(source))


@seed_sources.delete(
    "/{crawl_id}/seed-sources/{source_id}",
    response={204: None},
    summary="Remove a source; its start URLs stay",
)
@may_change
def delete_seed_source(
    request: AuthenticatedRequest, crawl_id: CrawlId, source_id: Number
) -> Status[None]:
    sources.remove_source(get_crawl(crawl_id), source_id, by=request.user)
    return Status(204, None)


def source_row(source: SeedSource) -> dict[str, Any]:
    names = ("kind", "url", "minutes", "resume", "created_at", "read_at", "next_at", "added")
    is_folder = source.kind == SeedSourceKind.FOLDER
    return {
        "id": source.pk,
        "folder": str(sources.folder_of(source.crawl)) if is_folder else "",
        "by": source.created_by.username if source.created_by else "",
        "note": source.note,
        **{name: getattr(source, name) for name in names},
    }


ROUTERS = (("/crawls", seed_sources, "crawls"),)
