"""The job that computes the link graph of a run: PageRank, hubs, authorities and components of its
pages and of its hosts, and drawings of its hosts.

The job runs step by step and may be ended after any step: later steps read what they need from
files.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial

import duckdb
import numpy as np

from crawling.base.errors import CrawlError
from crawling.base.storage import storage
from crawling.datasets.job_tables import JobTables
from crawling.datasets.parts import count_pages_behind
from crawling.jobs.kinds import JobResult
from crawling.jobs.running_job import RunningJob
from crawling.models import Run
from crawling.uses.link_graph.drawing_steps import are_sums_needed, drawing_steps, sum_steps
from crawling.uses.link_graph.edges import Edges, edge_steps, node_steps
from crawling.uses.link_graph.files import component_step, link_steps, page_steps
from crawling.uses.link_graph.host_graph import host_steps
from crawling.uses.link_graph.lists import GRAPH
from crawling.uses.link_graph.measures import (
    KINDS,
    MOST_STEPS,
    STEPS,
    RanksNotFound,
    find_components,
    hubs_and_authorities,
    pagerank,
)
from crawling.uses.link_graph.steps import Step, arrays_step, delete_array_files, read_arrays

NO_MEMORY = "The machine of the background worker has too little memory for it."
COUNTS = """
SELECT count(*), (SELECT count(*) FROM links), (SELECT count(*) FROM hosts),
    coalesce(max(weak), 0), coalesce(max(strong), 0)
FROM pages
"""


class GraphTrouble(CrawlError):
    """The link graph cannot be computed."""


def continue_computation(job: RunningJob) -> JobResult:
    """Continue until the turn or the work ends, but for at least one step. Raises JobGone, and
    CrawlError with the reason why the graph cannot be computed.
    """
    if "behind" not in job.progress:
        job.note(behind=count_pages_behind(job.run))
    graph = JobTables(GRAPH, job.row)
    counts = _compute_while_alone(job, graph)
    if counts is not None:
        job.finish(counts)
        delete_array_files(graph)
    return counts


def _compute_while_alone(job: RunningJob, graph: JobTables) -> JobResult:
    """Compute as long as other jobs do not wait. Raises JobGone, and CrawlError with the reason why
    the graph cannot be computed.
    """
    try:
        return _table_counts(graph) if _do_steps(job, graph) else None
    except MemoryError as error:
        raise GraphTrouble(NO_MEMORY) from error
    except OSError as error:
        why = f"Its files cannot be written: {error.strerror}." if error.strerror else str(error)
        raise GraphTrouble(why) from error
    except duckdb.Error as error:
        raise GraphTrouble(str(error)) from error


def _do_steps(job: RunningJob, graph: JobTables) -> bool:
    """Do the open steps until other jobs wait. Return whether all steps are done."""
    is_first = True
    for step in _computation_steps(graph, job.run):
        if step.is_done:
            continue
        if not (is_first or job.goes_on()):
            return False
        step.work()
        is_first = False
        job.bookmark(step.file)
    return True


def _computation_steps(graph: JobTables, run: Run) -> Iterator[Step]:
    """The steps in their order. Each may be done once those before it are done."""
    if not are_sums_needed(graph):  # otherwise the links need not be read in a later turn
        nodes = yield from node_steps(graph, run)
        if storage().size(graph.file("pages")) is None:  # the same for links between pages
            yield from _page_steps(graph, run, nodes)
        yield component_step(graph)
        lines = yield from host_steps(graph, run, nodes)
        yield from sum_steps(graph, lines)
    yield from drawing_steps(graph)


def _page_steps(graph: JobTables, run: Run, nodes: np.ndarray) -> Iterator[Step]:
    ids = np.ascontiguousarray(nodes[:, 0])
    edges = yield from edge_steps(graph, run, nodes)
    yield from link_steps(graph, ids, edges)
    measures: dict[str, np.ndarray] = {}
    for kind in KINDS:
        yield arrays_step(graph, kind, partial(find_components, edges, kind))
        measures |= read_arrays(graph, kind)
    measures |= yield from _rank_steps(graph, edges)
    yield arrays_step(graph, "hubs", partial(hubs_and_authorities, edges))
    measures |= read_arrays(graph, "hubs")
    yield from page_steps(graph, ids, edges, measures)


def _rank_steps(graph: JobTables, edges: Edges) -> Generator[Step, None, dict[str, np.ndarray]]:
    """Raises RanksNotFound."""
    ranks = np.ones(edges.nodes)
    for number in range(MOST_STEPS // STEPS):
        name = f"ranked-{number:05}"
        yield arrays_step(graph, name, partial(pagerank, edges, ranks))
        found = read_arrays(graph, name)
        ranks = found["pagerank"]
        if found["is_found"]:
            return {"pagerank": ranks / ranks.sum()}
    raise RanksNotFound


def _table_counts(graph: JobTables) -> dict[str, int]:
    names = ("pages", "links", "hosts", "weak_components", "strong_components")
    ((*counts,),) = graph.ask(COUNTS)
    return dict(zip(names, counts, strict=True))
