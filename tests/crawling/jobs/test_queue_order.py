"""A worker does what users ask for, and another what no user asks for."""

from __future__ import annotations

import shlex
from datetime import timedelta
from threading import Event

import django_rq
import pytest
from django.conf import settings
from django.utils import timezone
from rq import Worker
from rq.executions import Execution
from rq.job import JobStatus

from crawling.datasets.jobs import LINKS, SECOND_READING
from crawling.jobs import rq_jobs
from crawling.jobs.due_jobs import request_due_jobs
from crawling.jobs.rq_jobs import (
    BACKGROUND,
    IDLE,
    SILENT_WORKER,
    RowJob,
)
from crawling.previews.jobs import KINDS as QUESTIONS
from crawling.uses.checkpoints.jobs import CHECKPOINT
from crawling.uses.exports.jobs import MIRROR, WACZ
from crawling.uses.extraction.jobs import EXTRACTION
from crawling.uses.link_check.jobs import PROBLEM_COUNTS
from crawling.uses.link_graph.jobs import LINK_GRAPH
from crawling.uses.revisits.jobs import REVISITS
from crawling.uses.search.jobs import FORGETTING, INDEX_REPAIR
from crawling.uses.seed_sources.jobs import SEED_SOURCE
from crawling.uses.seed_sources.sources import SeedSourceFields, create_source
from crawling.uses.watches.jobs import WATCHES
from crawling.uses.withdrawals.jobs import WITHDRAWAL
from experiments.jobs import EXPERIMENT
from tests.stack import BACKGROUND_WORKER, background_queue, running_stack, wait_until


@pytest.fixture
def background(transactional_db):
    with background_queue() as queue:
        yield queue


def workers():
    """The commands with which the Procfile starts workers of background jobs, by process."""
    told = {}
    for line in (settings.BASE_DIR / "Procfile").read_text().splitlines():
        name, _, command = line.partition(": ")
        if name in ("background", "idle"):
            words = shlex.split(command.replace("$BACKGROUND_WORKER_CLASS", BACKGROUND_WORKER))
            told[name] = words[words.index("rqworker") :]
    return told


def test_each_job_is_in_the_queue_of_those_who_ask_for_it(background):
    asked = (CHECKPOINT, EXPERIMENT, EXTRACTION, LINK_GRAPH, MIRROR, WACZ, QUESTIONS[0])
    idle = (LINKS, SECOND_READING, PROBLEM_COUNTS, WATCHES, REVISITS, SEED_SOURCE)
    assert {kind.queue for kind in (*asked, WITHDRAWAL)} == {BACKGROUND}
    assert {job.queue for job in (*idle, FORGETTING, INDEX_REPAIR)} == {IDLE}
    for name, words in workers().items():
        assert [word for word in words if word in settings.RQ_QUEUES] == [name]


def test_a_users_job_begins_at_once_while_idle_jobs_work_and_wait(
    background, tmp_path, make_site, crawl_to_the_end
):
    """The idle job at work gives way to none: a seed source whose server does not answer."""
    asked, answers = Event(), Event()

    def slow(request):
        asked.set()
        answers.wait(60)
        return 200, {"Content-Type": "application/feed+json"}, "{}"

    site = make_site({"/": "home", "/feed.json": slow})
    crawl = crawl_to_the_end(f"{site.url}/").crawl
    create_source(crawl, SeedSourceFields("feed", f"{site.url}/feed.json"), by=None)
    django_rq.get_queue(IDLE).empty()
    request_due_jobs()
    for number in range(150):
        SECOND_READING.job.enqueue(-1 - number)  # of no run
    env = {"SEED_DIR": str(tmp_path / "seeds"), "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"}
    with running_stack(tmp_path, **env) as stack:
        for words in workers().values():
            stack.start(words)
        try:
            assert asked.wait(60)
            wait_until(lambda: Worker.count(queue=background))
            WACZ.job.enqueue(-1000)
            job = background.fetch_job("job--1000")
            wait_until(lambda: job.get_status(refresh=True) == JobStatus.FINISHED)
        finally:
            answers.set()
        job.refresh()
        assert (job.started_at - job.enqueued_at).total_seconds() < 5
        assert django_rq.get_queue(IDLE).count > 100


def test_an_idle_job_that_a_worker_has_just_taken_is_not_queued_again(background, monkeypatch):
    queue = django_rq.get_queue(IDLE)
    LINKS.job.enqueue(-1)
    queue.connection.lpop(queue.key)  # as RQ does for a worker with several queues

    assert not LINKS.job.enqueue_if_lost(-1)
    assert queue.job_ids == []

    monkeypatch.setattr(rq_jobs, "ON_ITS_WAY", timedelta(0))
    assert LINKS.job.enqueue_if_lost(-1)
    assert queue.job_ids == ["job--1"]


def test_a_job_is_queued_again_once_its_worker_was_killed(background):
    WACZ.job.enqueue(-1)
    job = background.fetch_job("job--1")
    job.set_status(JobStatus.STARTED)
    background.remove(job)

    job.heartbeat(timezone.now() - SILENT_WORKER / 2, ttl=600)
    assert not WACZ.job.enqueue_if_lost(-1)
    job.heartbeat(timezone.now() - 2 * SILENT_WORKER, ttl=600)
    with background.connection.pipeline() as pipeline:
        execution = Execution.create(job, ttl=90, pipeline=pipeline)
        pipeline.execute()
    background.connection.delete(execution.key)  # as Redis does after 90 s
    assert WACZ.job.enqueue_if_lost(-1)

    assert background.job_ids == ["job--1"]
    assert background.started_job_registry.count == 0


def test_of_many_rows_only_those_are_looked_at_one_by_one_whose_job_waits_no_more(
    background, monkeypatch
):
    queue, asked = django_rq.get_queue(IDLE), []
    ask = RowJob.enqueue_if_lost
    rows = range(-50, 0)
    for row in rows[:-1]:
        LINKS.job.enqueue(row)
    monkeypatch.setattr(
        RowJob, "enqueue_if_lost", lambda job, row: (asked.append(row), ask(job, row))[1]
    )

    LINKS.job.enqueue_lost(rows)

    assert queue.job_ids == [f"job-{row}" for row in rows]
    assert asked == [-1]
