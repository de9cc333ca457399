"""The background job that computes the link graph of a run: PageRank, hubs and authorities, and
components, of its pages and of its hosts, and drawings of its hosts.

A job that was killed begins anew; what it had written is removed.
"""

from __future__ import annotations

import logging

import duckdb

from crawling.errors import CrawlError
from crawling.link_graph.edges import read_host_edges, read_page_edges
from crawling.link_graph.files import put_drawings, put_hosts, put_links, put_pages
from crawling.link_graph.graphs import delete_files, end_graph, take_up
from crawling.link_graph.measures import measure
from crawling.link_graph.tables import page_hosts
from crawling.links.parts import pages_behind
from crawling.models import LinkGraph, Run

logger = logging.getLogger(__name__)

NO_MEMORY = "The machine of the background worker has too little memory for it."


def compute(graph_id: int) -> None:
    """What RQ runs. Harmless when run twice."""
    graph = take_up(graph_id)
    if graph is None or graph.run is None:
        return
    counts, trouble = {}, ""
    try:
        counts = _compute(graph, graph.run)
    except MemoryError:
        trouble = NO_MEMORY
    except (CrawlError, OSError, duckdb.Error) as error:
        trouble = str(error)
        said = {"run": graph.run_id, "error": trouble}
        logger.warning("a link graph cannot be computed", extra=said)
    if not end_graph(graph, counts, trouble=trouble) or trouble:
        delete_files(graph.name)


def _compute(graph: LinkGraph, run: Run) -> dict[str, int]:
    behind = pages_behind(run)
    pages = read_page_edges(run)
    put_links(graph, pages)
    measures = measure(pages.edges)
    put_pages(graph, pages, measures)
    counts = {
        "behind": behind,
        "pages": pages.edges.nodes,
        "links": len(pages.edges.sources),
        "weak_components": int(measures.weak.max(initial=0)),
        "strong_components": int(measures.strong.max(initial=0)),
    }
    del pages, measures  # the hosts need their memory
    hosts = read_host_edges(run, page_hosts(graph))
    put_hosts(graph, hosts, measure(hosts.edges))
    put_drawings(graph, hosts)
    return {**counts, "hosts": hosts.edges.nodes}
