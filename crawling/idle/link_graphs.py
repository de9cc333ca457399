"""The background job that computes a link graph, with a grant of memory that it asks for after all
others and gives back when another process needs it: within 5 s, whatever the size of the graph.

A child process computes it. It ends between two steps, and is killed in a step that takes longer.
The scheduler queues the job again until the last step is done.
"""

from __future__ import annotations

from functools import partial

from allocation.errors import AllocationError
from crawling.jobs.rq_jobs import LINK_GRAPH
from crawling.jobs.temporary_grant import NoUnits
from crawling.jobs.turns import idle_turn
from crawling.link_graph.graphs import lost_graphs, note_broken_step, note_wait
from crawling.links.parts import links_written
from crawling.models import Run
from crawling.pools import memory_to_hold
from crawling.process.child_process import GoesOn, child_process

#: what any graph takes, and a million links of a run more: 10 million were measured to take 1,148
LEAST_MIB, MIB_PER_MILLION = 128, 110


def compute_when_idle(graph_id: int) -> str:
    """What RQ runs; returns what became of it. After a kill it continues behind the last step."""
    with (
        child_process(partial(_compute, graph_id)) as child,
        LINK_GRAPH.alone(graph_id) as is_alone,
    ):
        graph = lost_graphs().select_related("run").filter(pk=graph_id).first()
        if not is_alone or graph is None or graph.run is None:
            return "another worker has it, or it is over"
        name, label = f"link-graph-{graph_id}", f"link graph {graph_id}"
        mebibytes = mebibytes_of(graph.run)
        try:
            with idle_turn(name, label=label, mebibytes=mebibytes) as turn:
                result = child.result(turn.goes_on, turn.seconds_left)
        except (NoUnits, AllocationError) as error:
            note_wait(graph, mebibytes)
            return str(error)
        return note_broken_step(graph_id) if result is None else result


def _compute(graph_id: int, goes_on: GoesOn) -> str:
    # SciPy takes memory, which is held by now
    from crawling.link_graph.computation import compute_steps

    return compute_steps(graph_id, goes_on)


def mebibytes_of(run: Run) -> int:
    """What is held: what it takes, or all that there is."""
    takes = LEAST_MIB + MIB_PER_MILLION * links_written(run) // 1_000_000
    return memory_to_hold(takes)
