"""The rows of link graphs: asked for, taken up, computed, removed.

Files are named by the attempt that writes them. So a job that was killed, or that runs twice,
leaves nothing that is read.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Mapping

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from crawling.archive.files import this_machine
from crawling.errors import ArchiveTrouble
from crawling.models import LinkGraph, Run
from crawling.rq_jobs import LINK_GRAPH
from crawling.storage import storage

logger = logging.getLogger(__name__)

#: a job that was killed so often is not begun again
MOST_ATTEMPTS = 3
BROKEN_OFF = (
    f"It was begun {MOST_ATTEMPTS} times and broken off each time. The machine of the background "
    "worker may have too little memory for it."
)


def computed_graph(run: Run) -> LinkGraph | None:
    """The one that was computed last."""
    return run.link_graphs.filter(ended_at__isnull=False, trouble="").order_by("-pk").first()


def latest_attempt(run: Run) -> LinkGraph | None:
    """The one that was asked for last, whatever came of it."""
    return run.link_graphs.order_by("-pk").first()


def ask_graph(run: Run) -> LinkGraph:
    """Let a background job compute it, unless one is about to. Raises RedisError."""
    graph = open_graph(run)
    LINK_GRAPH.enqueue_if_lost(graph.pk)
    return graph


def open_graph(run: Run) -> LinkGraph:
    """The row of the one that is to be computed; a new one if there is none."""
    row = LinkGraph(run=run, name=_new_name(run.pk), machine=this_machine())
    LinkGraph.objects.bulk_create([row], ignore_conflicts=True)
    return LinkGraph.objects.get(run=run, ended_at=None)


def lost_graphs() -> QuerySet[LinkGraph]:
    """Those that are to be computed."""
    return LinkGraph.objects.filter(ended_at=None, run__isnull=False)


def take_up(graph_id: int) -> LinkGraph | None:
    """Begin an attempt; None: there is nothing to do, or it was tried too often."""
    with transaction.atomic():
        graph = lost_graphs().select_for_update(of=("self",)).filter(pk=graph_id).first()
        if graph is None or graph.run_id is None:
            return None
        if graph.attempts >= MOST_ATTEMPTS:
            end_graph(graph, trouble=BROKEN_OFF)
            return None
        delete_files(graph.name)
        LinkGraph.objects.filter(pk=graph_id).update(
            name=_new_name(graph.run_id),
            machine=this_machine(),
            attempts=F("attempts") + 1,
            began_at=Now(),
        )
    return LinkGraph.objects.select_related("run").get(pk=graph_id)


def end_graph(
    graph: LinkGraph, counts: Mapping[str, int] | None = None, *, trouble: str = ""
) -> bool:
    """Note that its files are there, or why they are not; whether they are wanted: not if the run
    was deleted, pages of it were withdrawn, or another attempt was begun meanwhile.
    """
    row = lost_graphs().filter(pk=graph.pk, name=graph.name)
    ended = row.update(ended_at=Now(), trouble=trouble, **(counts or {}))
    if ended and not trouble:
        LinkGraph.objects.filter(run=graph.run_id, pk__lt=graph.pk).update(run=None)
    return bool(ended)


def forget_graphs(runs: Iterable[int]) -> None:
    """Show no graph of these runs any more, and compute none of what was asked for before."""
    LinkGraph.objects.filter(run__in=runs).update(run=None)


def graphs_restored() -> None:
    """A back-up has no files of graphs."""
    LinkGraph.objects.update(run=None)


def remove_abandoned_graphs() -> None:
    """Remove the files of graphs without a run that are on this machine, then their rows.

    Safe to repeat.
    """
    for graph in LinkGraph.objects.filter(run=None):
        if graph.machine != this_machine() and not storage().list(graph.name.partition("/")[0]):
            continue  # they are on another
        try:
            delete_files(graph.name)
        except (OSError, ArchiveTrouble) as error:  # the row stays, and so it is tried again
            facts = {"graph": graph.name, "error": str(error)}
            logger.warning("a link graph cannot be removed", extra=facts)
        else:
            graph.delete()


def delete_files(name: str) -> None:
    """Delete the files of a graph, and the folder with the last of them. Raises OSError."""
    folder, _, own = name.partition("/")
    for file in storage().list(folder):
        if file.startswith(f"{own}."):
            storage().delete(f"{folder}/{file}")
    others = LinkGraph.objects.filter(name__startswith=f"{folder}/")
    if not others.exclude(name=name).exists():
        storage().delete_folder(folder)  # with what a killed job left there


def _new_name(run_id: int) -> str:
    return f"graph{run_id}/{uuid.uuid4().hex}"
