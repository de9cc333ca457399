"""One worker does what users ask for first, and then what no user asks for."""

from __future__ import annotations

import shlex
from datetime import timedelta

import django_rq
import pytest
from django.conf import settings
from rq import SimpleWorker
from rq.job import JobStatus

from crawling import rq_jobs
from crawling.rq_jobs import (
    IDLE,
    LINKS,
    MIRROR,
    REVISITS,
    SECOND_READING,
    SEED_SOURCE,
    WACZ,
    WATCHES,
)
from tests.stack import background_queue


class WorkerInPlace(SimpleWorker):
    def _install_signal_handlers(self):
        """Those of the tests stay."""


@pytest.fixture
def background(transactional_db):
    with background_queue() as queue:
        yield queue


def queues_of_the_worker():
    """The queues that the Procfile has the background worker listen to, in its order."""
    (line,) = (
        line
        for line in (settings.BASE_DIR / "Procfile").read_text().splitlines()
        if line.startswith("background:")
    )
    words = shlex.split(line)
    return [word for word in words[words.index("rqworker") :] if word in settings.RQ_QUEUES]


def test_what_a_user_asks_for_starts_before_idle_jobs_that_were_queued_first(background):
    for number, job in enumerate((SECOND_READING, WATCHES, WACZ, SEED_SOURCE, MIRROR, REVISITS)):
        job.enqueue(-1 - number)  # of no row: they end at once
    queues = [django_rq.get_queue(name) for name in queues_of_the_worker()]
    jobs = [job for queue in queues for job in queue.get_jobs()]

    serializer = settings.RQ_SERIALIZER
    WorkerInPlace(queues, connection=background.connection, serializer=serializer).work(burst=True)

    jobs.sort(key=lambda job: (job.refresh(), job.started_at)[1])
    assert [job.get_status() for job in jobs] == [JobStatus.FINISHED] * 6
    assert [job.id.rpartition("--")[0] for job in jobs] == [
        *("wacz", "mirror"),
        *("read-again", "watches", "seed-source", "revisits"),
    ]


def test_an_idle_job_that_a_worker_has_just_taken_is_not_queued_again(background, monkeypatch):
    queue = django_rq.get_queue(IDLE)
    LINKS.enqueue(-1)
    queue.connection.lpop(queue.key)  # as RQ does for a worker with several queues

    assert not LINKS.enqueue_if_lost(-1)
    assert queue.job_ids == []

    monkeypatch.setattr(rq_jobs, "ON_ITS_WAY", timedelta(0))
    assert LINKS.enqueue_if_lost(-1)
    assert queue.job_ids == ["links--1"]
