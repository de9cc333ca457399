"""`/api/v1/crawls/{id}/directories`: a run's sites as directories."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from typing import Annotated, Any

from ninja import Query, Router, Schema
from pydantic import Field

from crawling.dashboard.base.api_parameters import TEXT, CrawlId, Limit, RunNumber, may_view
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.run.site_tree import COUNTED, directory_row, site_tree
from serving.access import AuthenticatedRequest

site_trees = Router()
Path = Annotated[
    str,
    Query(
        max_length=2000,
        pattern=TEXT,
        description="only entries of this directory, such as `example.org/manual/`; default: all "
        "hosts",
    ),
]


class SiteDirectoryOut(Schema):
    path: str
    urls: int = Field(description="at any depth")
    fetched: int
    failed: int
    bytes: int = Field(description="of the documents fetched")
    directories: int = Field(description="directly in it")


class SiteDirectoryList(Schema):
    items: list[SiteDirectoryOut]
    looked_at: int = Field(description="URLs that were counted")
    is_estimate: bool = Field(description=f"the run has more than {COUNTED:,} URLs")


@site_trees.get(
    "/{crawl_id}/directories",
    response=SiteDirectoryList,
    summary="Directories of the sites with counts and sizes, the most URLs first",
)
@may_view
def list_crawl_directories(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    path: Path = "",
    limit: Limit = 50,
) -> dict[str, Any]:
    """Hosts without `path`, else the entries of that directory; request a longer `path` to go
    deeper."""
    tree = site_tree(get_run(crawl_id, run), path if not path or path.endswith("/") else f"{path}/")
    items = [
        {**directory_row(one), "directories": len(one.inside)} for one in tree.root.largest[:limit]
    ]
    return {"items": items, "looked_at": tree.looked_at, "is_estimate": tree.is_estimate}
