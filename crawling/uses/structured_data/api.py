"""`/api/v1/crawls/{id}/structured-data`: the data of a run's pages for programs."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from functools import partial
from typing import Annotated, Any

from ninja import Query, Router
from pydantic import Field

from crawling.dashboard.base.api_parameters import TEXT, CrawlId, RunNumber, may_view
from crawling.dashboard.base.lags import LagOut, lag_facts
from crawling.dashboard.base.requests import get_run
from crawling.datasets.lag import Derived
from crawling.uses.structured_data.structured_data import (
    DataCount,
    DataFilter,
    StructuredRow,
    count_facets,
    count_kinds,
    list_structured,
)
from crawling.web.structured_rows import DataKind
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import ListAnswer, listed
from serving.listing.sources import FoundList

structured = Router()
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


class DataKindsOut(LagOut):
    kinds: list[DataCount]
    facets: list[DataCount] = Field(
        description="of the `kind` asked for: the most frequent types, or of metadata, Open Graph "
        "and Dublin Core names"
    )


@listed(
    structured,
    "/{crawl_id}/structured-data",
    FoundList(StructuredRow),
    summary="Structured data of a run's pages: JSON-LD, microdata, metadata, images, contacts",
    beside=LagOut,
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
) -> ListAnswer:
    """The indexing of the archived pages finds them, while the crawl runs."""
    one, wanted = get_run(crawl_id, run), DataFilter(kind or "", type, name, page)
    return ListAnswer(
        partial(list_structured, one, wanted), lambda: lag_facts(one, Derived.STRUCTURED_DATA)
    )


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
        **lag_facts(one, Derived.STRUCTURED_DATA),
        "kinds": count_kinds(one, page=page),
        "facets": facets,
    }


ROUTERS = (("/crawls", structured, "results"),)
