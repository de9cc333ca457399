"""Jobs in Redis that nobody works on any more."""

from __future__ import annotations

from rq.executions import Execution
from rq.job import Job


def remove(job: Job) -> None:
    """Delete a job whose worker may be lost. RQ's own way raises ValueError for a minute, once it has let expire what it knows of the
    execution and not yet forgotten that there was one."""
    for execution_id in job.execution_registry.get_execution_ids():
        with job.connection.pipeline() as pipeline:
            Execution(id=execution_id, job_id=job.id, connection=job.connection).delete(job, pipeline)
            pipeline.execute()
    job.delete()
