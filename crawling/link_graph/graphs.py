"""The rows of link graphs: asked for, taken up, computed, removed.

Files are named anew for each graph and machine. So what a job writes of a graph that is no longer
wanted, or that another machine computes, is never read.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterable, Mapping

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Greatest, Now

from crawling.archive.files import this_machine
from crawling.errors import ArchiveTrouble
from crawling.jobs.rq_jobs import LINK_GRAPH
from crawling.links.parts import pages_behind
from crawling.models import LinkGraph, Run
from crawling.storage import storage

logger = logging.getLogger(__name__)

#: a job that was killed so often in the same step is not begun again
MOST_ATTEMPTS = 3
BROKEN_OFF = (
    f"It was broken off {MOST_ATTEMPTS} times in the same step. The machine of the background "
    "worker may have too little memory for it."
)
#: one that others did not leave the time for a step is given up, too
MOST_BROKEN = 20
NO_TIME = (
    f"Its next step was broken off {MOST_BROKEN} times, since other processes needed the memory "
    "before it was done. Ask for it again when fewer crawls run; `crawl graph --compute` computes "
    "it without a grant."
)
NO_UNITS = "it waits for {:,} MiB of memory that no crawl needs"
OTHERS_WAIT = "it waits until others have what they need, and continues then"
BROKEN_STEP = f"{OTHERS_WAIT}; its next step was broken off {{:,}} of at most {MOST_BROKEN} times"


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
    """Begin it, or continue on the machine that has its files; None: there is nothing to do, or
    the same step was begun too often.
    """
    found = lost_graphs().select_related("run").filter(pk=graph_id).first()
    if found is None or found.run is None:
        return None
    behind = pages_behind(found.run)  # a user who cancels it waits for the lock of the row
    with transaction.atomic():
        graph = lost_graphs().select_for_update(of=("self",)).filter(pk=graph_id).first()
        if graph is None or graph.run is None:
            return None
        if graph.attempts >= MOST_ATTEMPTS:
            end_graph(graph, trouble=BROKEN_OFF)
            delete_files(graph.name)
            return None
        row = LinkGraph.objects.filter(pk=graph_id)
        row.update(attempts=F("attempts") + 1, waits="")
        if graph.began_at is None or graph.machine != this_machine():
            row.update(
                name=_new_name(graph.run.pk),
                machine=this_machine(),
                began_at=Now(),
                behind=behind,
            )
    return LinkGraph.objects.select_related("run").get(pk=graph_id)


def step_done(graph: LinkGraph) -> bool:
    """Note that a step is done; whether the graph is still wanted, and this job's."""
    row = lost_graphs().filter(pk=graph.pk, name=graph.name)
    return bool(row.update(attempts=0, broken_steps=0))


def give_back(graph: LinkGraph) -> str:
    """Note that the job ended for others between two steps; returns what became of it."""
    lost_graphs().filter(pk=graph.pk, name=graph.name).update(waits=OTHERS_WAIT)
    return "others wait"


def note_broken_step(graph_id: int) -> str:
    """Note that the job was killed for others in a step, which counts as no attempt; returns what
    became of it.
    """
    row = lost_graphs().filter(pk=graph_id)
    row.update(attempts=Greatest(F("attempts") - 1, 0), broken_steps=F("broken_steps") + 1)
    graph = row.first()
    if graph is None:
        return "it is not wanted any more"
    if graph.broken_steps >= MOST_BROKEN:
        end_graph(graph, trouble=NO_TIME)
        delete_files(graph.name)
        return NO_TIME
    row.update(waits=BROKEN_STEP.format(graph.broken_steps))
    return "others wait"


def note_wait(graph: LinkGraph, mebibytes: int) -> None:
    """Note that a job asked for so much memory and did not get it."""
    lost_graphs().filter(pk=graph.pk).update(waits=NO_UNITS.format(mebibytes))


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


def clear_graph(graph_id: int) -> None:
    """Remove what a job that was killed has left of one that was cancelled. Raises OSError and
    ArchiveTrouble.
    """
    graph = LinkGraph.objects.filter(pk=graph_id).first()
    if graph is not None:
        delete_files(graph.name)


def _new_name(run_id: int) -> str:
    return f"graph{run_id}/{uuid.uuid4().hex}"
