"""The background job that computes the link graph of a run, with memory that it gives back when
another process needs it: within 5 s, whatever the size of the graph.

A child process computes it. It ends between two steps, and is killed in a step that takes longer.
"""

from __future__ import annotations

from crawling.datasets.parts import links_written
from crawling.installation.pools import memory_to_hold
from crawling.jobs.kinds import OF_TABLES, JobKind, JobResult
from crawling.jobs.running_job import RunningJob
from crawling.models import BackgroundJob

#: the memory of any graph, and the addition for a million links of a run: 10 million were measured
#: to take 1,148
LEAST_MIB, MIB_PER_MILLION = 128, 110


def _work(job: RunningJob) -> JobResult:
    # SciPy takes memory, which is held by now
    from crawling.uses.link_graph.computation import compute

    return compute(job)


def mebibytes_of(job: BackgroundJob) -> int:
    """The memory to hold: the need of the computation, or all of the pool's."""
    links = links_written(job.run) if job.run else 0
    return memory_to_hold(LEAST_MIB + MIB_PER_MILLION * links // 1_000_000)


LINK_GRAPH = JobKind(
    name="link-graph",
    label="link graph",
    done="computed",
    work=_work,
    memory=mebibytes_of,
    in_child=True,
    has_files=True,
    keeps_latest_only=True,
    effects=OF_TABLES,
)


KINDS = (LINK_GRAPH,)
