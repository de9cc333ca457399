"""`/api/v1/search`: stored pages of all crawls by their text."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from typing import Annotated, Any

from ninja import Query, Router
from pydantic import Field

from crawling.dashboard.base.api_parameters import LARGEST, TEXT, Limit, RunNumber, Text, may_view
from crawling.dashboard.base.lags import LagOut, lag_facts_of
from crawling.uses.search.jobs import lag_of_search
from crawling.uses.search.search import (
    LONGEST_QUERY,
    MOST_BEFORE,
    ROWS,
    HitRow,
    SearchFilter,
    ValueCount,
    labelled_counts,
    search_texts,
)
from serving.access import AuthenticatedRequest
from serving.listing.columns import row_of

texts = Router()
Words = Annotated[
    str,
    Query(
        min_length=1,
        max_length=LONGEST_QUERY,
        pattern=TEXT,
        description='words, which are all to be found; "a phrase"; -word: pages without it; '
        "one OR another",
    ),
]
OfCrawl = Annotated[
    int | None, Query(ge=1, le=LARGEST, description="only pages of this crawl, by its id")
]
AllRuns = Annotated[
    bool,
    Query(description="of all runs; otherwise of the latest run of each crawl that has texts"),
]
Month = Annotated[
    str,
    Query(
        pattern=r"^([0-9]{4}-[0-9]{2})?$",
        description="only pages that were fetched in this month (UTC), like 2026-11",
    ),
]
Before = Annotated[
    int,
    Query(ge=0, le=MOST_BEFORE, description="`next` of the previous page; omit it for the first"),
]


class HitPage(LagOut):
    items: list[HitRow]
    count: int = Field(description="pages that were found in all")
    counts: dict[str, list[ValueCount]] = Field(
        description="by `crawl`, `host`, `type`, `month` and `language`: the most common values"
    )
    milliseconds: int
    next: int | None


@texts.get(
    "",
    response=HitPage,
    summary="Search the texts of stored pages",
    openapi_extra={
        "responses": {
            404: {"$ref": "#/components/responses/404"},
            503: {"$ref": "#/components/responses/503"},
        }
    },
)
@may_view
def search_page_texts(
    request: AuthenticatedRequest,
    q: Words,
    crawl: OfCrawl = None,
    run: RunNumber = None,
    all_runs: AllRuns = False,
    host: Text = "",
    type: Text = "",
    month: Month = "",
    language: Text = "",
    cursor: Before = 0,
    limit: Limit = ROWS,
) -> dict[str, Any]:
    """The best pages first. `run` needs `crawl`. Pages of the searched runs that are not in the
    index yet are missing: `behind` says how many. For an HTML page the first 262,144 characters of
    its text are searched, for other documents the first 32,768.
    """
    wanted = SearchFilter(crawl, run if crawl else None, all_runs, host, type, month, language)
    result = search_texts(q, wanted, before=cursor, most=limit)
    following = cursor + limit
    return {
        "items": [row_of(HitRow, hit) for hit in result.hits],
        "count": result.count,
        "counts": labelled_counts(result),
        "milliseconds": result.milliseconds,
        **lag_facts_of(lag_of_search(result.runs)),
        "next": following if result.count > following and following <= MOST_BEFORE else None,
    }


ROUTERS = (("/search", texts, "results"),)
