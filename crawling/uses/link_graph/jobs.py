"""The background job that computes the link graph of a run. It releases its memory within 5 s when
another process needs it, whatever the size of the graph.

A child process does the work. It ends between two steps, and is killed if a step takes longer.
"""

from __future__ import annotations

from crawling.datasets.parts import count_written_links
from crawling.installation.pools import memory_to_hold
from crawling.jobs.kinds import OF_TABLES, JobKind, JobResult
from crawling.jobs.running_job import RunningJob
from crawling.models import BackgroundJob

#: the memory for any graph, and the further memory for a million links of a run; for 10 million
#: links 1,148 MiB were measured
LEAST_MIB, MIB_PER_MILLION = 128, 110


def _compute_graph(job: RunningJob) -> JobResult:
    # SciPy takes memory, so it is imported once the job holds some
    from crawling.uses.link_graph.computation import continue_computation

    return continue_computation(job)


def memory_mebibytes_of_graph(job: BackgroundJob) -> int:
    """The memory that the computation needs, or all memory of the pool if that is less, in MiB."""
    links = count_written_links(job.run) if job.run else 0
    return memory_to_hold(LEAST_MIB + MIB_PER_MILLION * links // 1_000_000)


LINK_GRAPH = JobKind(
    name="link-graph",
    label="link graph",
    done="computed",
    work=_compute_graph,
    memory=memory_mebibytes_of_graph,
    in_child=True,
    has_files=True,
    keeps_latest_only=True,
    effects=OF_TABLES,
)


KINDS = (LINK_GRAPH,)
