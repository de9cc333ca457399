"""Checkpoints are taken in turn, and by hand from page or program; the last few are kept."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from redis import Redis
from rq import Queue

from crawling.archive.checkpoint_directory import read_manifest
from crawling.base.errors import CheckpointTrouble
from crawling.jobs.job_rows import open_jobs
from crawling.jobs.rq_jobs import BACKGROUND
from crawling.jobs.running import run_job
from crawling.models import BackgroundJob, Run
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.housekeeping.run_removal import remove_run
from crawling.runs.start import start_run
from crawling.scheduler.messages import RESEND_AFTER, resend_lost_background_jobs
from crawling.uses.checkpoints.jobs import (
    CHECKPOINT,
    Checkpoint,
    checkpoints_of,
    request_checkpoint,
    request_due_checkpoints,
)
from tests.stack import background_queue


@pytest.fixture
def run(order, settings, tmp_path):
    """A run that has been at work for two hours, and a place for its checkpoints."""
    settings.CHECKPOINT_DIR, settings.CHECKPOINTS_KEPT = tmp_path / "checkpoints", 2
    run = start_run(create_crawl(order("http://127.0.0.1:8900/")))
    Run.objects.update(started_at=timezone.now() - timedelta(hours=2), state="running")
    return run


def test_one_is_taken_every_hour_and_the_last_two_are_kept(run, settings):
    for _ in range(3):
        request_due_checkpoints()
        request_due_checkpoints()  # one is on its way already
        run_job(open_jobs().get().pk)
        BackgroundJob.objects.update(asked_at=timezone.now() - timedelta(minutes=61))

    rows = [Checkpoint.from_job(job) for job in checkpoints_of(run.crawl)]
    assert len(rows) == 2
    assert {row.directory for row in rows} == {
        str(path) for path in settings.CHECKPOINT_DIR.iterdir()
    }
    assert [(row.urls, row.job.by, row.job.trouble) for row in rows] == [(1, None, "")] * 2
    assert read_manifest(settings.CHECKPOINT_DIR / rows[0].directory).run["state"] == "running"


def test_one_that_cannot_be_written_says_why_and_leaves_nothing(run, settings):
    settings.CHECKPOINT_DIR.parent.joinpath("file").write_text("")
    settings.CHECKPOINT_DIR = settings.CHECKPOINT_DIR.parent / "file"
    job = request_checkpoint(run)
    run_job(job.pk)

    job.refresh_from_db()
    assert "File exists" in job.trouble
    assert Checkpoint.from_job(job).taken_at is None


def test_without_a_place_none_is_taken_and_whoever_asks_is_told(run, settings):
    settings.CHECKPOINT_DIR = None
    request_due_checkpoints()

    assert not BackgroundJob.objects.exists()
    with pytest.raises(CheckpointTrouble, match="CHECKPOINT_DIR"):
        request_checkpoint(run)


def test_one_that_is_asked_for_without_redis_is_taken_once_it_is_back(
    transactional_db, run, client, monkeypatch
):
    client.force_login(User.objects.create_superuser("olga"))
    with background_queue() as queue, monkeypatch.context() as away:
        dead = Queue(BACKGROUND, connection=Redis(unix_socket_path="/nonexistent.sock"))
        away.setattr("django_rq.get_queue", lambda name: dead)

        told = client.post(f"/api/v1/crawls/{run.crawl_id}/checkpoints")

        away.undo()
        assert (told.status_code, queue.job_ids) == (202, [])
        BackgroundJob.objects.update(asked_at=timezone.now() - 2 * RESEND_AFTER)
        resend_lost_background_jobs()
        assert queue.job_ids == [f"job-{told.json()['id']}"]
        queue.fetch_job(queue.job_ids[0]).perform()
    assert Checkpoint.from_job(BackgroundJob.objects.get()).taken_at


def test_the_page_takes_one_and_shows_it(run, client):
    client.force_login(User.objects.create_superuser("olga"))
    page = f"/crawls/{run.crawl_id}/checkpoints/"
    assert "in progress" in client.post(page, follow=True).content.decode()
    run_job(BackgroundJob.objects.get().pk)

    shown = client.get(page).content.decode()
    assert Checkpoint.from_job(BackgroundJob.objects.get()).directory in shown
    assert "olga" in shown


def test_one_in_progress_is_cancelled_by_its_button(run, client):
    client.force_login(User.objects.create_superuser("olga"))
    job = request_checkpoint(run)
    page = f"/crawls/{run.crawl_id}/checkpoints/"
    (address,) = re.findall(r'formaction="([^"]*cancel/)"', client.get(page).text)

    client.post(address)

    job.refresh_from_db()
    assert (job.state, str(job.cancelled_by)) == ("cancelled", "olga")
    assert "Cancelled by olga" in client.get(page).text


def test_one_whose_job_was_killed_is_given_up_and_leaves_nothing(run, settings):
    job = request_checkpoint(run)
    BackgroundJob.objects.update(attempts=1)
    begun = settings.CHECKPOINT_DIR / (
        f".crawl{run.crawl_id}-run1-{job.asked_at:%Y%m%dT%H%M%SZ}-{job.pk}.4711"
    )
    begun.mkdir(parents=True)

    assert run_job(job.pk) == CHECKPOINT.broken_off

    job.refresh_from_db()
    assert job.state == "failed"
    assert not list(settings.CHECKPOINT_DIR.iterdir())


def test_a_deleted_run_leaves_the_directories_of_its_checkpoints(run, settings):
    run_job(request_checkpoint(run).pk)
    Run.objects.update(state="finished")
    run.refresh_from_db()

    remove_run(run, by=None, for_good=True)

    assert not BackgroundJob.objects.exists()
    assert len(list(settings.CHECKPOINT_DIR.iterdir())) == 1
