"""A stranger who writes to Redis has no function run but those of our own jobs."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import django_rq
import pytest
from rq import SimpleWorker, Webhook
from rq.job import Callback, Job, JobStatus
from rq.serializers import JSONSerializer, PickleSerializer

from crawling.fetching.worker.own_jobs import FUNCTIONS, REFUSED, OwnSpawnWorker
from crawling.jobs.rq_jobs import BACKGROUND, RUN_JOB
from tests.stack import background_queue


class WorkerInPlace(SimpleWorker):
    def _install_signal_handlers(self):
        """The handlers of the tests stay."""


class SpawningWorker(OwnSpawnWorker):
    def _install_signal_handlers(self):
        """The handlers of the tests stay."""


class Opened:
    """Makes a directory when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def leave_mark(job, connection, *_):
    """A callback of RQ."""
    Path(job.meta["mark"]).mkdir()


@pytest.fixture
def background(transactional_db):
    with background_queue() as queue:
        yield queue


@pytest.fixture
def mark(tmp_path):
    return tmp_path / "mark"


def planted(queue, function, *args, serializer=JSONSerializer, instance=None, **options) -> Job:
    """A job as RQ itself writes it, put there by somebody else."""
    job = Job.create(
        function,
        args=args,
        connection=queue.connection,
        serializer=serializer,
        origin=queue.name,
        status=JobStatus.QUEUED,
        **options,
    )
    job.instance = instance
    job.save()
    queue.connection.rpush(queue.key, job.id)
    return job


def work(worker_class=WorkerInPlace) -> None:
    """The same as `manage.py rqworker`, but in this process and until nothing waits."""
    django_rq.get_worker(
        BACKGROUND, worker_class=worker_class, serializer="json", name="of-the-test"
    ).work(burst=True)


@pytest.mark.parametrize("worker_class", [WorkerInPlace, SpawningWorker])
@pytest.mark.parametrize(
    "plant",
    [
        lambda queue, mark: planted(queue, "os.mkdir", str(mark)),
        lambda queue, mark: planted(queue, "os.getcwd"),
        lambda queue, mark: planted(queue, f"{RUN_JOB}.__globals__", 1),
        lambda queue, mark: planted(queue, RUN_JOB, kwargs={"job_id": 1}),
        lambda queue, mark: planted(queue, RUN_JOB, "1"),
        lambda queue, mark: planted(queue, "mkdir", str(mark), instance="os"),
        lambda queue, mark: planted(queue, "os.getcwd", Opened(mark), serializer=PickleSerializer),
    ],
)
def test_a_planted_job_fails_without_a_call(background, mark, plant, worker_class):
    job = plant(background, mark)
    ours = background.enqueue_call(RUN_JOB, args=(-1,))

    work(worker_class)

    assert job.get_status() == JobStatus.FAILED
    # and not by what the call has raised, as most of them would
    why = job.latest_result().exc_string
    assert REFUSED in why or "DeserializationError" in why
    assert not mark.exists()
    assert worker_class is SpawningWorker or ours.get_status() == JobStatus.FINISHED


@pytest.mark.parametrize(
    "options",
    [
        {"on_success": Callback(leave_mark)},
        {"on_failure": Callback(leave_mark)},
    ],
)
@pytest.mark.parametrize("function", [RUN_JOB, "os.getcwd"])
def test_callbacks_that_redis_names_are_not_called(background, mark, options, function):
    job = planted(background, function, -1, meta={"mark": str(mark)}, **options)

    work()

    assert job.get_status() in (JobStatus.FINISHED, JobStatus.FAILED)
    assert not mark.exists()


@pytest.mark.parametrize("function", [RUN_JOB, "os.getcwd"])
def test_webhooks_that_redis_names_are_not_asked(background, make_site, function):
    site = make_site({"/": "x"})
    hooks = [Webhook(f"{site.url}/", status) for status in ("finished", "failed")]
    job = planted(background, function, -1, webhooks=hooks)

    work()

    assert job.get_status() in (JobStatus.FINISHED, JobStatus.FAILED)
    assert site.log == []


def test_a_process_that_is_not_forked_reads_neither_of_them_in_redis(background):
    """The process has RQ's own class of jobs, which calls them."""
    called = Callback(leave_mark)
    job = planted(
        background,
        RUN_JOB,
        -1,
        on_success=called,
        on_failure=called,
        on_stopped=called,
        webhooks=[Webhook("http://127.0.0.1:1/", "failed")],
    )

    work(SpawningWorker)

    read = Job.fetch(job.id, connection=background.connection, serializer=JSONSerializer)
    assert read.get_status() == JobStatus.FAILED  # it was begun
    assert (read.success_callback, read.failure_callback, read.stopped_callback) == (None,) * 3
    assert read.webhooks == []


def test_every_function_of_ours_can_be_called():
    """A wrong name would show when its first job fails."""
    queue = django_rq.get_queue(BACKGROUND)
    create = partial(queue.job_class.create, connection=queue.connection, serializer=JSONSerializer)

    assert all(callable(create(function, args=(1,)).func) for function in FUNCTIONS)
