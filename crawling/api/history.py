"""`/api/url`: what became of a URL."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's decorator.

from typing import Annotated, Any

from ninja import Query, Router

from crawling.api.parameters import TEXT, Cursor, Limit
from crawling.api.permissions import Asking, may_view
from crawling.api.schemas import Met, UrlHistory
from crawling.history import history_of
from crawling.models import Url, UrlState

history = Router()
Address = Annotated[str, Query(min_length=1, max_length=4096, pattern=TEXT, description="a whole URL, in any spelling")]


@history.get("", response=UrlHistory, summary="What became of a URL in every run, the latest run first")
@may_view
def url(request: Asking, u: Address, cursor: Cursor = None, limit: Limit = 50) -> dict[str, Any]:
    canonical, rows, following = history_of(u, before=cursor, limit=limit)
    return {"url": canonical, "items": [_met(row) for row in rows], "next": following}


def _met(row: Url) -> Met:
    page = getattr(row, "page", None)  # not there if nothing answered
    return Met(
        crawl=row.run.crawl_id,
        name=row.run.crawl.name,
        run=row.run.number,
        state=UrlState(row.state).label,
        status=row.status,
        error=row.error,
        depth=row.depth,
        attempts=row.attempts,
        final_url=page.final_url if page else None,
        title=page.title if page else None,
        fetched_at=page.fetched_at if page else None,
    )
