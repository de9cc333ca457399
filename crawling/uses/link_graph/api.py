"""`/api/v1/crawls/{id}/graph…`: the link graph of a run."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from ninja import Path, Router, Status
from pydantic import Field

from crawling.dashboard.base.api_parameters import CrawlId, RunNumber, may_change, may_view
from crawling.dashboard.base.api_schemas import CancellableOut, cancelled_facts
from crawling.dashboard.base.requests import get_run
from crawling.datasets.parts import MOST_BEHIND
from crawling.models import Run
from crawling.uses.link_graph.drawing import HostDrawing, drawing_of
from crawling.uses.link_graph.drawings import MOST_LINES, MOST_NODES
from crawling.uses.link_graph.graph_state import state_of, wanted_graph
from crawling.uses.link_graph.jobs import request_graph
from crawling.uses.link_graph.lists import LISTS
from crawling.uses.link_graph.tables import ask
from serving.access import AuthenticatedRequest
from serving.listing.endpoint import listed
from serving.listing.row_list import Ask
from serving.schemas import Schema

graph = Router()


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
    request_graph(one, by=request.user)
    return Status(202, _told(one))


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


def _source(crawl_id: int, run: int | None) -> Ask:
    return partial(ask, wanted_graph(get_run(crawl_id, run)))


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
    """Hosts of pages, and hosts that links lead to; `q` is a part of the name."""
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
