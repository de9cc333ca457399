"""The lists of a link graph: its pages and hosts by rank, and its components.

PageRank, hub and authority are multiples of the mean, so each would be 1 if all pages had the same
value. A host has the sums of its pages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

from crawling.base.errors import ArchiveTrouble
from crawling.datasets.job_tables import TablesOfRun
from crawling.datasets.query import LinkSearchTookTooLong
from crawling.models import Page
from serving.listing.columns import Column
from serving.listing.row_list import ListFilter, RowList

GRAPH = TablesOfRun(
    "link-graph",
    ("pages", "links", "hosts", "host_links", "components", "drawn_nodes", "drawn_lines"),
    ask_at="graph/compute",
)
MULTIPLE = "as a multiple of the mean of all pages"
RANKS_OF_PAGE = """
SELECT in_links, out_links, pagerank, hub, authority, weak, strong,
    (SELECT 1 + count(*) FROM pages WHERE pagerank > own.pagerank), $pages
FROM pages AS own WHERE page_id = $page
"""


@dataclass(frozen=True)
class RankedPage:
    """A page of a link graph."""

    id: int
    url: Annotated[str, Column(label="Page")]
    host: str
    in_links: Annotated[int, Column("pages that link to it", "Links to it", sorts=True)]
    out_links: Annotated[
        int, Column("pages of the run that it links to", "Links from it", sorts=True)
    ]
    pagerank: Annotated[float, Column(MULTIPLE, "PageRank", sorts=True)]
    hub: Annotated[float, Column(MULTIPLE, "Hub", sorts=True)]
    authority: Annotated[float, Column(MULTIPLE, "Authority", sorts=True)]
    weak: Annotated[
        int,
        Column(
            "number of its weakly connected component; 1: the largest", "Components", is_text=True
        ),
    ]
    strong: Annotated[int, Column("number of its strongly connected component; 1: the largest")]
    #: the status of the answer; None if the page is no longer stored
    status: Annotated[int | None, Column(label="Status", is_stored=False)]
    title: Annotated[str, Column(is_stored=False)]


@dataclass(frozen=True)
class RankedHost:
    """A host of pages, or a host to which links lead."""

    host: Annotated[str, Column(label="Host")]
    domain: Annotated[str, Column("its registrable domain; empty: it has none")]
    pages: Annotated[int, Column(label="Pages")]
    in_links: Annotated[int, Column("links from other hosts", "Links to it", sorts=True)]
    out_links: Annotated[int, Column("links to other hosts", "Links from it", sorts=True)]
    inner_links: Annotated[int, Column(label="Inner links")]
    in_hosts: Annotated[int, Column(label="From hosts")]
    out_hosts: Annotated[int, Column(label="To hosts")]
    pagerank: Annotated[
        float, Column("the sum of its pages; so are hub and authority", "PageRank", sorts=True)
    ]
    hub: Annotated[float, Column(label="Hub", sorts=True)]
    authority: Annotated[float, Column(label="Authority", sorts=True)]
    weak: Annotated[
        int,
        Column(
            "number of its component in the graph of hosts; 1: the largest",
            "Components",
            is_text=True,
        ),
    ]
    strong: int


@dataclass(frozen=True)
class GraphComponent:
    """A component of the page graph, with at least two pages."""

    number: Annotated[int, Column(label="Component")]
    pages: Annotated[int, Column(label="Pages")]
    page_id: Annotated[int, Column("its page of the highest PageRank")]
    url: Annotated[str, Column(label="Page of the highest PageRank")]


@dataclass(frozen=True)
class PageRanks:
    in_links: int
    out_links: int
    pagerank: float
    hub: float
    authority: float
    weak: int
    strong: int
    #: one more than the number of pages with a higher PageRank
    place: int
    of_pages: int


def _add_answers(pages: list[RankedPage]) -> list[RankedPage]:
    stored = Page.objects.filter(pk__in=[page.id for page in pages])
    answers = {row[0]: row[1:] for row in stored.values_list("pk", "status", "title")}
    told = ((page, answers.get(page.id, (None, ""))) for page in pages)
    return [replace(page, status=status, title=title) for page, (status, title) in told]


#: a part of a component's name, such as weak-1
PART = "split_part($component, '-', {})"
PAGES = RowList(
    RankedPage,
    table="(SELECT page_id AS id, * FROM pages)",
    key="id",
    shown=("url", "pagerank", "in_links", "out_links", "hub", "authority", "status", "weak"),
    filters=(
        ListFilter(
            "q",
            "contains(lower(url), lower($q))",
            words="only those with this in the address or name",
        ),
        ListFilter("host", "host = $host", "only pages of this host"),
        ListFilter(
            "component",
            f"CASE {PART.format(1)} WHEN 'weak' THEN weak ELSE strong END"
            f" = CAST({PART.format(2)} AS BIGINT)",
            "only pages of this component, like weak-1, the largest",
            pattern="(weak|strong)-[0-9]{1,18}",
            example="like weak-1 or strong-1",
        ),
    ),
    first_sort="pagerank",
    complete=_add_answers,
)
HOSTS = RowList(
    RankedHost,
    table="hosts",
    key="host",
    shown=(
        *("host", "pages", "pagerank", "in_links", "in_hosts", "out_links", "out_hosts"),
        *("inner_links", "hub", "authority", "weak"),
    ),
    filters=(ListFilter("q", "contains(host, lower($q))"),),
    first_sort="pagerank",
)
COMPONENTS = RowList(
    GraphComponent,
    table="components",
    key="number",
    shown=("number", "pages", "url"),
    filters=(
        ListFilter(
            "kind", "kind = $kind", "weakly or strongly connected", choices=("weak", "strong")
        ),
    ),
)
LISTS: dict[str, RowList[Any]] = {"pages": PAGES, "hosts": HOSTS, "components": COMPONENTS}


def ranks_of_page(page: Page) -> PageRanks | None:
    """The page's ranks in the graph. None if its run has no graph here, or if the graph was
    computed before the page was fetched.
    """
    graph = GRAPH.latest(page.run)
    if graph is None:
        return None
    try:
        rows = graph.ask(RANKS_OF_PAGE, {"page": page.pk, "pages": graph.counts["pages"]})
    except (ArchiveTrouble, LinkSearchTookTooLong):
        return None  # the page about the graph shows the reason
    return PageRanks(*rows[0]) if rows else None
