"""The background job that computes a link graph, with a grant of memory that it asks for after all
others and gives back when another process needs it: within 5 s, but for steps over many millions of
links that cannot be broken off (decision 94).

The scheduler queues it again until the last step is done.
"""

from __future__ import annotations

from allocation.errors import AllocationError
from crawling.idle.turns import idle_turn
from crawling.link_graph.graphs import lost_graphs, note_wait
from crawling.links.parts import links_written
from crawling.models import Run
from crawling.rq_jobs import LINK_GRAPH
from crawling.runs.grants import memory_to_hold
from crawling.runs.held_units import NoUnits

#: what any graph takes, and a million links of a run more: 10 million were measured to take 1,148
LEAST_MIB, MIB_PER_MILLION = 128, 110


def compute_when_idle(graph_id: int) -> str:
    """What RQ runs; returns what became of it. After a kill it continues behind the last step."""
    with LINK_GRAPH.alone(graph_id) as is_alone:
        graph = lost_graphs().select_related("run").filter(pk=graph_id).first()
        if not is_alone or graph is None or graph.run is None:
            return "another worker has it, or it is over"
        name, label = f"link-graph-{graph_id}", f"link graph {graph_id}"
        mebibytes = mebibytes_of(graph.run)
        try:
            with idle_turn(name, label=label, mebibytes=mebibytes) as turn:
                # SciPy takes memory, too, and more time than a turn has before its first look
                from crawling.link_graph.computation import compute_steps

                turn.begin()
                return compute_steps(graph_id, turn.seconds_left)
        except (NoUnits, AllocationError) as error:
            note_wait(graph, mebibytes)
            return str(error)


def mebibytes_of(run: Run) -> int:
    """What is held: what it takes, or all that there is."""
    takes = LEAST_MIB + MIB_PER_MILLION * links_written(run) // 1_000_000
    return memory_to_hold(takes)
