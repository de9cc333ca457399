"""AC8: Redis loses everything.

A granted start is sent again, or taken back and asked for again, and the crawl ends. Background
jobs are queued again.
"""

from __future__ import annotations

from datetime import timedelta

import django_rq
import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rq.job import JobStatus

from allocation.models import Outbox, Process
from crawling.jobs.rq_jobs import BACKGROUND, SHIFTS
from crawling.models import BackgroundJob, InquiryKind, Page, Run
from crawling.models.jobs import ENDED_STATES
from crawling.previews.inquiries import start_inquiry
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.scheduler.messages import RESEND_AFTER, resend_lost_background_jobs
from crawling.scheduler.rounds import duties
from crawling.uses.checkpoints.jobs import request_checkpoint
from experiments.form import start_experiment
from tests.crawling.runs.test_kill import ladder
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until

PAGES = 30


#: by the reaper, which takes back what no worker picks up; and with the times that are shipped, in
#: the drill, by being sent again
PICKUP_SECONDS = [3, pytest.param(120, marks=pytest.mark.drill)]


@pytest.mark.parametrize("pickup_seconds", PICKUP_SECONDS)
def test_start_that_redis_lost_is_worked_within_a_minute(
    transactional_db, make_site, order, tmp_path, settings, pickup_seconds
):
    settings.BANK_PICKUP_SECONDS = pickup_seconds
    site = make_site(ladder(PAGES))
    run = start_run(create_crawl(order(f"{site.url}/")))

    with running_stack(tmp_path, BANK_LEASE_SECONDS="2", BANK_PICKUP_SECONDS="30") as stack:
        stack.start(SCHEDULER)
        wait_until(lambda: not Outbox.objects.filter(sent_at=None).exists())
        assert Process.objects.filter(holding=True, worker="").exists()
        django_rq.get_connection(SHIFTS).flushdb()
        stack.start(WORKER)
        wait_until(lambda: Run.objects.get(pk=run.pk).state in ENDED_STATES, seconds=60)

    assert Page.objects.filter(run=run).count() == PAGES
    assert not Process.objects.filter(holding=True).exists()


def test_an_open_grant_is_sent_again_within_a_minute_by_the_times_that_are_shipped():
    times = {duty.do.__name__: duty.every_seconds for duty in duties()}

    for name in ("resend_lost_starts", "resend_lost_background_jobs"):
        assert RESEND_AFTER + timedelta(seconds=times[name]) <= timedelta(seconds=60)


@pytest.fixture
def background(transactional_db, pool, order, settings, tmp_path):
    """An experiment, a test fetch and a checkpoint that were asked for a minute ago; the names of
    their jobs.
    """
    django_rq.get_queue(BACKGROUND).connection.flushdb()
    settings.CHECKPOINT_DIR = tmp_path / "checkpoints"
    operator = User.objects.create(username="operator")
    experiment = start_experiment(
        policy="naive", requests=1, bound_seconds=0.3, seed=1, by=operator
    )
    crawl = create_crawl(order("http://127.0.0.1:8900/"))
    inquiry = start_inquiry(
        InquiryKind.TEST_FETCH, {"order": {"seeds": crawl.seeds}, "answers": {}}, by=operator
    )
    checkpoint = request_checkpoint(start_run(crawl), by=operator)
    ago = timezone.now() - timedelta(minutes=1)
    BackgroundJob.objects.update(asked_at=ago)
    names = (f"job-{experiment.job_id}", f"job-{inquiry.pk}", f"job-{checkpoint.pk}")
    return sorted(names)


def test_background_jobs_that_redis_lost_are_queued_again_once(background):
    queue = django_rq.get_queue(BACKGROUND)
    assert sorted(queue.job_ids) == background
    queue.connection.flushdb()

    resend_lost_background_jobs()
    resend_lost_background_jobs()

    assert sorted(queue.job_ids) == background


def test_background_jobs_that_failed_early_are_queued_again(background):
    queue = django_rq.get_queue(BACKGROUND)
    for job_id in background:
        job = queue.fetch_job(job_id)
        queue.remove(job)
        job.set_status(JobStatus.FAILED)

    resend_lost_background_jobs()

    assert sorted(queue.job_ids) == background


def test_background_jobs_that_are_done_or_at_work_are_not_queued_again(background):
    BackgroundJob.objects.update(ended_at=timezone.now())
    queue = django_rq.get_queue(BACKGROUND)
    queue.connection.flushdb()

    resend_lost_background_jobs()

    assert queue.job_ids == []
