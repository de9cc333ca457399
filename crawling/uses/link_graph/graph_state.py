"""How far the link graph of a run is: computed, when, and what it lacks by now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from crawling.base.errors import NotFound
from crawling.datasets.parts import MOST_BEHIND
from crawling.jobs.kinds import state_of as state_of_job
from crawling.models import BackgroundJob, Page, Run
from crawling.uses.link_graph.graphs import LinkGraph, computed_graph, latest_attempt


@dataclass(frozen=True)
class GraphState:
    #: none, waiting, working, computed, cancelled or failed: of the latest job
    state: str
    #: why the latest job failed; empty unless it did
    trouble: str = ""
    #: why no background job computes it, if one has told
    waits: str = ""
    #: None: no graph is there to be shown; then the counts are 0
    computed_at: datetime | None = None
    pages: int = 0
    #: pairs of pages that a link joins
    links: int = 0
    hosts: int = 0
    weak_components: int = 0
    strong_components: int = 0
    #: pages whose links were not in the dataset when it was computed
    behind: int = 0
    #: pages that were fetched since; MOST_BEHIND: so many or more
    newer_pages: int = 0
    #: the latest
    job: BackgroundJob | None = None

    @property
    def is_open(self) -> bool:
        return self.state in ("waiting", "working")

    @property
    def is_late(self) -> bool:
        """Whether pages of the run are not in it."""
        return bool(self.behind or self.newer_pages)


def state_of(run: Run) -> GraphState:
    latest, graph = latest_attempt(run), computed_graph(run)
    state, trouble, waits = (
        (state_of_job(latest), latest.trouble, latest.waits) if latest else ("none", "", "")
    )
    if graph is None:
        return GraphState(state, trouble, waits, job=latest)
    return GraphState(
        state,
        trouble,
        waits,
        graph.ended_at,
        graph.pages,
        graph.links,
        graph.hosts,
        graph.weak_components,
        graph.strong_components,
        graph.behind,
        Page.objects.filter(run=run, fetched_at__gt=graph.began_at)[:MOST_BEHIND].count(),
        latest,
    )


def wanted_graph(run: Run) -> LinkGraph:
    """The computed graph of a run. Raises NotFound."""
    graph = computed_graph(run)
    if graph is None:
        raise NotFound(
            f"The link graph of run {run.number} has not been computed. POST "
            f"/api/v1/crawls/{run.crawl_id}/graph/compute, or press Compute on its page."
        )
    return graph
