"""`/api/v1/crawls/{id}/graph…`: the link graph of a run."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, Any

from ninja import Path, Query, Router, Status
from pydantic import Field

from crawling.dashboard.base.api_parameters import (
    TEXT,
    CrawlId,
    Cursor,
    Limit,
    RunNumber,
    Text,
    may_change,
    may_view,
)
from crawling.dashboard.base.api_schemas import CancellableOut, cancelled_facts
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.graph.drawing import HostDrawing, drawing_of
from crawling.dashboard.graph.graph_state import state_of, wanted_graph
from crawling.dashboard.graph.ranked_lists import (
    ComponentKind,
    RankFilter,
    RankSort,
    list_components,
    list_hosts,
    list_pages,
)
from crawling.link_graph.drawings import MOST_LINES, MOST_NODES
from crawling.link_graph.jobs import ask_graph
from crawling.links.parts import MOST_BEHIND
from crawling.models import Run
from serving.access import AuthenticatedRequest
from serving.schemas import Schema

graph = Router()
Key = Annotated[str, Query(max_length=5000, pattern=TEXT, description="`next` of the page before")]
Sort = Annotated[RankSort, Query(description="the column, the largest first")]
Host = Annotated[str, Query(max_length=300, pattern=TEXT, description="only pages of this host")]
Component = Annotated[
    str,
    Query(
        pattern=r"^((weak|strong)-[0-9]{1,18})?$",
        description="only pages of this component, like weak-1, the largest",
    ),
]
Kind = Annotated[ComponentKind, Query(description="weakly or strongly connected")]
#: of PageRank, hub and authority
MULTIPLE = "as a multiple of the mean of all pages"


class LinkGraphOut(CancellableOut):
    state: str = Field(
        description="of the latest job: none, waiting, working, computed, cancelled or failed"
    )
    trouble: str = Field(description="why the latest job failed")
    waits: str = Field(description="why no background job computes it, if one has told")
    computed_at: datetime | None = Field(
        description="of the graph that the lists show; null: there is none"
    )
    pages: int
    links: int = Field(description="pairs of pages that a link joins")
    hosts: int
    weak_components: int
    strong_components: int
    behind: int = Field(
        description="pages whose links were not in the dataset when it was computed; "
        f"{MOST_BEHIND:,}: so many or more"
    )
    newer_pages: int = Field(
        description=f"pages that were fetched since; {MOST_BEHIND:,}: so many or more"
    )


def _told(run: Run) -> dict[str, Any]:
    told = state_of(run)
    return asdict(replace(told, job=None)) | cancelled_facts(told.job)


class RankedPageOut(Schema):
    id: int
    url: str
    host: str
    in_links: int = Field(description="pages that link to it")
    out_links: int = Field(description="pages of the run that it links to")
    pagerank: float = Field(description=MULTIPLE)
    hub: float = Field(description=MULTIPLE)
    authority: float = Field(description=MULTIPLE)
    weak: int = Field(description="number of its weakly connected component; 1: the largest")
    strong: int = Field(description="number of its strongly connected component; 1: the largest")
    status: int | None
    title: str


class RankedPageList(Schema):
    items: list[RankedPageOut]
    next: str | None


class RankedHostOut(Schema):
    host: str
    domain: str = Field(description="its registrable domain; empty: it has none")
    pages: int
    in_links: int = Field(description="links from other hosts")
    out_links: int = Field(description="links to other hosts")
    inner_links: int
    in_hosts: int
    out_hosts: int
    pagerank: float = Field(description="the sum of its pages; so are hub and authority")
    hub: float
    authority: float
    weak: int = Field(description="number of its component in the graph of hosts; 1: the largest")
    strong: int


class RankedHostList(Schema):
    items: list[RankedHostOut]
    next: str | None


class GraphComponentOut(Schema):
    number: int
    pages: int
    page_id: int = Field(description="its page of the highest PageRank")
    url: str


class DrawnNodeOut(Schema):
    node: int = Field(description="its number in the drawing")
    kind: str = Field(description="host; domain or rest: a group of hosts")
    name: str = Field(description="of the host or domain; empty: of the rest")
    hosts: int
    pages: int
    in_links: int = Field(description="links from other hosts; of a group the sum of its hosts")
    out_links: int
    opens: int | None = Field(description="the drawing of a group's hosts")
    x: float = Field(description="between 0 and 1, as is y")
    y: float


class DrawnLineOut(Schema):
    one: int = Field(description="a node by its number")
    other: int
    links: int = Field(description="in both directions")


class HostDrawingOut(Schema):
    number: int
    nodes: list[DrawnNodeOut] = Field(description=f"at most {MOST_NODES}")
    lines: list[DrawnLineOut] = Field(
        description=f"at most {MOST_LINES:,}, those with the most links, which come last"
    )
    joined: int = Field(description="pairs of nodes that links join")
    within: int | None = Field(description="the drawing that has its hosts as one node")


class ComponentList(Schema):
    items: list[GraphComponentOut]
    next: int | None


@graph.get("/{crawl_id}/graph", response=LinkGraphOut, summary="How far the link graph is")
@may_view
def get_link_graph(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> dict[str, Any]:
    return _told(get_run(crawl_id, run))


@graph.post(
    "/{crawl_id}/graph/compute",
    response={202: LinkGraphOut},
    summary="Compute the link graph of a run",
)
@may_change
def compute_link_graph(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> Status:
    """A background job does it; until it is done the lists show the graph before."""
    one = get_run(crawl_id, run)
    ask_graph(one, by=request.user)
    return Status(202, _told(one))


@graph.get(
    "/{crawl_id}/graph/pages",
    response=RankedPageList,
    summary="Pages by links, PageRank, hub or authority",
)
@may_view
def list_graph_pages(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    sort: Sort = RankSort.PAGERANK,
    q: Text = "",
    host: Host = "",
    component: Component = "",
    cursor: Key = "",
    limit: Limit = 50,
) -> dict[str, Any]:
    """`q` is a part of the address."""
    one, wanted = wanted_graph(get_run(crawl_id, run)), RankFilter(q, host, component)
    rows, following = list_pages(one, sort, wanted, after=cursor, most=limit)
    return {"items": [asdict(row) for row in rows], "next": following}


@graph.get(
    "/{crawl_id}/graph/hosts",
    response=RankedHostList,
    summary="Hosts by links, PageRank, hub or authority",
)
@may_view
def list_graph_hosts(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    sort: Sort = RankSort.PAGERANK,
    q: Text = "",
    cursor: Key = "",
    limit: Limit = 50,
) -> dict[str, Any]:
    """Hosts of pages, and hosts that links lead to; `q` is a part of the name."""
    one = wanted_graph(get_run(crawl_id, run))
    rows, following = list_hosts(one, sort, RankFilter(q), after=cursor, most=limit)
    return {"items": [asdict(row) for row in rows], "next": following}


@graph.get(
    "/{crawl_id}/graph/drawings/{drawing_number}",
    response=HostDrawingOut,
    summary="The graph of hosts as a drawing",
)
@may_view
def get_host_drawing(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    drawing_number: Annotated[int, Path(ge=0, le=10**9, description="0: of all hosts")],
    run: RunNumber = None,
) -> HostDrawing:
    """A group of hosts is a node that opens another drawing."""
    return drawing_of(wanted_graph(get_run(crawl_id, run)), drawing_number)


@graph.get(
    "/{crawl_id}/graph/components",
    response=ComponentList,
    summary="Connected components of pages, the largest first",
)
@may_view
def list_graph_components(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    kind: Kind = ComponentKind.WEAK,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> dict[str, Any]:
    """Components of a single page are not listed."""
    one = wanted_graph(get_run(crawl_id, run))
    rows, following = list_components(one, kind, after=cursor or 0, most=limit)
    return {"items": [asdict(row) for row in rows], "next": following}
