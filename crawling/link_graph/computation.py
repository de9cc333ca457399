"""The job that computes the link graph of a run: PageRank, hubs and authorities, and components, of
its pages and of its hosts, and drawings of its hosts.

It is done step by step, and may be ended after any of them: what later ones need is in files.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from functools import partial

import duckdb
import numpy as np

from crawling.errors import CrawlError, WrongState
from crawling.jobs.rq_jobs import LINK_GRAPH
from crawling.link_graph.drawing_steps import are_summed, drawing_steps, sum_steps
from crawling.link_graph.edges import Edges, edge_steps, node_steps
from crawling.link_graph.files import component_step, link_steps, page_steps
from crawling.link_graph.graphs import delete_files, end_graph, give_back, step_done, take_up
from crawling.link_graph.host_graph import host_steps
from crawling.link_graph.measures import (
    KINDS,
    MOST_STEPS,
    STEPS,
    RanksNotFound,
    components,
    hubs_and_authorities,
    pagerank,
)
from crawling.link_graph.steps import Step, arrays_of, arrays_step, delete_kept
from crawling.link_graph.tables import ask
from crawling.models import LinkGraph, Run
from crawling.process.child_process import GoesOn
from crawling.storage import storage

logger = logging.getLogger(__name__)

NO_MEMORY = "The machine of the background worker has too little memory for it."
COUNTS = """
SELECT count(*), (SELECT count(*) FROM links), (SELECT count(*) FROM hosts),
    coalesce(max(weak), 0), coalesce(max(strong), 0)
FROM pages
"""


def compute(graph_id: int) -> None:
    """Compute it in this process, without a grant. Raises WrongState if a background job does."""
    with LINK_GRAPH.alone(graph_id) as is_alone:
        if not is_alone:
            raise WrongState("A background job computes the link graph; see its page.")
        compute_steps(graph_id, lambda: True)


def compute_steps(graph_id: int, goes_on: GoesOn) -> str:
    """Go on until the turn or the work ends, but for one step at least; returns what became of it.
    The caller is alone.
    """
    graph = take_up(graph_id)
    if graph is None or graph.run is None:
        return "there is nothing to do"
    counts, trouble, is_first = {}, "", True
    try:
        for step in _steps(graph, graph.run):
            if step.is_done:
                continue
            if not (is_first or goes_on()):
                return give_back(graph)
            step.work()
            is_first = False
            if not step_done(graph):
                break  # it is not wanted any more
        else:
            counts = _counts(graph)
    except MemoryError:
        trouble = NO_MEMORY
    except (CrawlError, OSError, duckdb.Error) as error:
        trouble = str(error)
        if isinstance(error, OSError) and error.strerror:
            trouble = f"Its files cannot be written: {error.strerror}."
        said = {"run": graph.run_id, "error": trouble}
        logger.warning("a link graph cannot be computed", extra=said)
    return _end(graph, counts, trouble)


def _end(graph: LinkGraph, counts: dict[str, int], trouble: str) -> str:
    if not end_graph(graph, counts, trouble=trouble) or trouble:
        delete_files(graph.name)
        return trouble or "it is not wanted any more"
    delete_kept(graph)
    return "it is computed"


def _steps(graph: LinkGraph, run: Run) -> Iterator[Step]:
    """In their order; each may be done once those before it are."""
    if not are_summed(graph):  # else a later turn need not read the links
        nodes = yield from node_steps(graph, run)
        if storage().size(graph.file("pages")) is None:  # nor those between pages
            yield from _page_steps(graph, run, nodes)
        yield component_step(graph)
        lines = yield from host_steps(graph, run, nodes)
        yield from sum_steps(graph, lines)
    yield from drawing_steps(graph)


def _page_steps(graph: LinkGraph, run: Run, nodes: np.ndarray) -> Iterator[Step]:
    ids = np.ascontiguousarray(nodes[:, 0])
    edges = yield from edge_steps(graph, run, nodes)
    yield from link_steps(graph, ids, edges)
    measures: dict[str, np.ndarray] = {}
    for kind in KINDS:
        yield arrays_step(graph, kind, partial(components, edges, kind))
        measures |= arrays_of(graph, kind)
    measures |= yield from _rank_steps(graph, edges)
    yield arrays_step(graph, "hubs", partial(hubs_and_authorities, edges))
    measures |= arrays_of(graph, "hubs")
    yield from page_steps(graph, ids, edges, measures)


def _rank_steps(graph: LinkGraph, edges: Edges) -> Generator[Step, None, dict[str, np.ndarray]]:
    """Raises RanksNotFound."""
    ranks = np.ones(edges.nodes)
    for number in range(MOST_STEPS // STEPS):
        name = f"ranked-{number:05}"
        yield arrays_step(graph, name, partial(pagerank, edges, ranks))
        found = arrays_of(graph, name)
        ranks = found["pagerank"]
        if found["is_found"]:
            return {"pagerank": ranks / ranks.sum()}
    raise RanksNotFound


def _counts(graph: LinkGraph) -> dict[str, int]:
    names = ("pages", "links", "hosts", "weak_components", "strong_components")
    ((*counts,),) = ask(graph, COUNTS)
    return dict(zip(names, counts, strict=True))
