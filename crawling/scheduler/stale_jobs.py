"""Jobs in Redis that nobody works on any more."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from rq import Queue
from rq.executions import Execution
from rq.job import Job, JobStatus

#: a worker takes a job off the queue and begins it within milliseconds; one that was killed in
#: between leaves it there
ON_ITS_WAY = timedelta(seconds=5)


def waits(queue: Queue, job: Job) -> bool:
    """Whether a worker will come to the job: it is in the queue, or was taken off it just now.

    What the job says of itself is not enough, since a worker that is killed before it begins
    changes nothing of that."""
    if job.get_status() != JobStatus.QUEUED:
        return False
    if queue.get_job_position(job.id) is not None:
        return True
    taken, this_time = queue.intermediate_queue, f"{job.id}@{job.enqueued_at}"
    taken.set_first_seen(this_time)
    seen = taken.get_first_seen(this_time)
    return job.id in taken.get_job_ids() and seen is not None and timezone.now() - seen < ON_ITS_WAY


def remove(job: Job) -> None:
    """Delete a job whose worker may be lost.

    RQ's own way raises ValueError for a minute, once it has let expire what it knows of the
    execution and not yet forgotten that there was one."""
    for execution_id in job.execution_registry.get_execution_ids():
        with job.connection.pipeline() as pipeline:
            Execution(id=execution_id, job_id=job.id, connection=job.connection).delete(
                job, pipeline
            )
            pipeline.execute()
    job.delete()
    Queue(job.origin, job.connection).intermediate_queue.remove(job.id)
