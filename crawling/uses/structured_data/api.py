"""`/api/v1/crawls/{id}/structured-data`: what the pages of a run say for programs."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from dataclasses import asdict
from typing import Annotated, Any

from ninja import Query, Router
from pydantic import Field

from crawling.dashboard.base.api_parameters import TEXT, CrawlId, Limit, RunNumber, may_view
from crawling.dashboard.base.requests import get_run
from crawling.datasets.parts import MOST_BEHIND, pages_behind
from crawling.uses.structured_data.structured_data import (
    DataFilter,
    count_facets,
    count_kinds,
    list_structured,
)
from crawling.web.structured_rows import DataKind
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

structured = Router()
Key = Annotated[str, Query(max_length=5000, pattern=TEXT, description="`next` of the page before")]
Kind = Annotated[DataKind | None, Query(description="only rows of this kind")]
Type = Annotated[
    str,
    Query(
        max_length=500,
        pattern=TEXT,
        description="only rows of this type: of items as the page writes it, of images "
        "`described`, `decorative` or `no text`",
    ),
]
Name = Annotated[
    str, Query(max_length=500, pattern=TEXT, description="only rows of this name, as `og:title`")
]
Source = Annotated[
    str, Query(max_length=5000, pattern=TEXT, description="only rows of this page, by its URL")
]
BEHIND = f"pages of the run that were not read yet; {MOST_BEHIND:,}: so many or more"


class StructuredRowOut(Schema):
    page: str = Field(description="the URL of the page")
    kind: DataKind
    type: str = Field(
        description="of items and images; of entries the kind of feed; of contacts where they stand"
    )
    name: str = Field(
        description="of metadata and properties theirs; of an item its name, of an entry its "
        "title, of an image its text, of a table its caption"
    )
    value: str = Field(description="of items and entries JSON, of images and feeds their URL")
    width: int | None = Field(description="of an image as declared; of a table its columns")
    height: int | None = Field(description="of an image as declared; of a table its rows")
    is_cut: bool = Field(description="a text of the row is longer than what is kept")


class StructuredPage(Schema):
    behind: int = Field(description=BEHIND)
    items: list[StructuredRowOut]
    next: str | None


class DataCountOut(Schema):
    name: str
    rows: int
    pages: int


class DataKindsOut(Schema):
    behind: int = Field(description=BEHIND)
    kinds: list[DataCountOut]
    facets: list[DataCountOut] = Field(
        description="of the `kind` asked for: the most frequent types, or of metadata, Open Graph "
        "and Dublin Core names"
    )


@structured.get(
    "/{crawl_id}/structured-data",
    response=StructuredPage,
    summary="Structured data of a run's pages: JSON-LD, microdata, metadata, images, contacts",
)
@may_view
def list_structured_data(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    kind: Kind = None,
    type: Type = "",
    name: Name = "",
    page: Source = "",
    cursor: Key = "",
    limit: Limit = 50,
) -> dict[str, Any]:
    """A second reading of the archived pages finds them, while the crawl runs."""
    one = get_run(crawl_id, run)
    wanted = DataFilter(kind or "", type, name, page)
    items, following = list_structured(one, wanted, after=cursor, most=limit)
    return {
        "behind": pages_behind(one, "read"),
        "items": [asdict(item) for item in items],
        "next": following,
    }


@structured.get(
    "/{crawl_id}/structured-data/kinds",
    response=DataKindsOut,
    summary="Count the structured data of a run by kind",
)
@may_view
def get_structured_data_kinds(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    kind: Kind = None,
    page: Source = "",
) -> dict[str, Any]:
    one = get_run(crawl_id, run)
    facets = count_facets(one, DataFilter(kind, page=page)) if kind else []
    return {
        "behind": pages_behind(one, "read"),
        "kinds": [asdict(count) for count in count_kinds(one, page=page)],
        "facets": [asdict(count) for count in facets],
    }


ROUTERS = (("/crawls", structured, "results"),)
