"""`/api/v1/crawls/{id}/graph…`: the link graph of a run."""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from typing import Annotated

from ninja import Path, Router
from pydantic import Field

from crawling.dashboard.base.api_parameters import CrawlId, RunNumber, may_view
from crawling.dashboard.base.job_answers import Operation, TablesOut, tables_endpoints
from crawling.dashboard.base.requests import get_run
from crawling.datasets.parts import MOST_BEHIND
from crawling.uses.link_graph.drawing import HostDrawing, drawing_of
from crawling.uses.link_graph.drawings import MOST_LINES, MOST_NODES
from crawling.uses.link_graph.lists import GRAPH, LISTS
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import listed
from serving.listing.row_list import Ask
from serving.schemas import Schema

graph = Router()


class LinkGraphOut(TablesOut):
    pages: int
    links: int = Field(description="pairs of pages that a link joins")
    hosts: int
    weak_components: int
    strong_components: int
    behind: int = Field(
        description="pages whose links were not in the dataset when it was computed; "
        f"{MOST_BEHIND:,}: so many or more"
    )


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


tables_endpoints(
    graph,
    "/{crawl_id}/graph",
    GRAPH,
    LinkGraphOut,
    told=Operation("get_link_graph", "How far the link graph is"),
    asked=Operation(
        "compute_link_graph",
        "Compute the link graph of a run",
        "A background job does it; until it is done the lists show the graph before.",
    ),
)


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
    return drawing_of(GRAPH.wanted(get_run(crawl_id, run)), drawing_number)


def _source(crawl_id: int, run: int | None) -> Ask:
    return GRAPH.wanted(get_run(crawl_id, run)).ask


@listed(
    graph,
    "/{crawl_id}/graph/pages",
    LISTS["pages"],
    summary="Pages by links, PageRank, hub or authority",
)
@may_view
def list_graph_pages(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> Ask:
    """`q` is a part of the address."""
    return _source(crawl_id, run)


@listed(
    graph,
    "/{crawl_id}/graph/hosts",
    LISTS["hosts"],
    summary="Hosts by links, PageRank, hub or authority",
)
@may_view
def list_graph_hosts(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> Ask:
    """Hosts of pages, and hosts to which links lead; `q` is a part of the name."""
    return _source(crawl_id, run)


@listed(
    graph,
    "/{crawl_id}/graph/components",
    LISTS["components"],
    summary="Connected components of pages, the largest first",
)
@may_view
def list_graph_components(
    request: AuthenticatedRequest, crawl_id: CrawlId, run: RunNumber = None
) -> Ask:
    """Components of a single page are not listed."""
    return _source(crawl_id, run)


ROUTERS = (("/crawls", graph, "results"),)
