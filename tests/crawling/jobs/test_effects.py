"""The fate of each kind of job once its run is deleted, pages are withdrawn, the installation is
loaded from a back-up, or archive files are rewritten: with a row, and files, of each.
"""

from __future__ import annotations

import pytest
from django.utils import timezone

from crawling.base.storage import storage
from crawling.jobs.enqueue import open_job
from crawling.jobs.job_rows import end_job, visible_jobs
from crawling.jobs.kinds import JobEffect, JobEvent, JobKind, job_kinds
from crawling.jobs.removal import check_jobs, delete_jobs_after_event, remove_deleted_jobs
from crawling.jobs.running import run_job
from crawling.models import BackgroundJob, Run
from crawling.runs.housekeeping.run_removal import remove_rows, remove_run
from crawling.uses.collections.changes import (
    CollectionFields,
    add_members,
    create_collection,
)
from crawling.uses.collections.jobs import COLLECTION_WACZ, request_file
from crawling.uses.exports.state import request_export
from crawling.uses.withdrawals.withdrawing import withdraw_pages
from tests.stack import background_queue

KINDS = sorted(job_kinds())
EXPORTS = [name for name in KINDS if JobEffect.CHECK in job_kinds()[name].effects.values()]


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    pages = {"/": "<title>Home</title><a href=/1>1</a>", "/1": "<title>One</title>"}
    return crawl_once(f"{shared.serve(pages).url}/")


@pytest.fixture
def run(crawled, db):
    with background_queue():
        yield Run.objects.get(pk=crawled.pk)


def made(kind: JobKind, run: Run) -> BackgroundJob:
    """A job that is done, with what the kind stores beside its row."""
    if kind.name in EXPORTS:
        job = BackgroundJob.objects.get(pk=requested(kind, run).pk)
        assert run_job(job.pk) == kind.done
        job.refresh_from_db()
        return job
    job = open_job(kind, run, {"about": "a test"}, by=None)
    if kind.has_files:
        storage().put(job.file("table.parquet"), [b"rows"])
    assert end_job(job, {"said": "words of a page"})
    return job


def requested(kind: JobKind, run: Run) -> BackgroundJob:
    if kind is not COLLECTION_WACZ:
        return request_export(run, kind)
    collection = create_collection(CollectionFields("Books"), by=None)
    add_members(collection, crawls=[run.crawl_id], by=None)
    return request_file(collection, by=None)


def files_of(job: BackgroundJob) -> list[str]:
    folder, _, own = job.name.partition("/")
    return [name for name in storage().list(folder) if own and name.startswith(own)]


def happens(event: JobEvent, run: Run) -> None:
    delete_jobs_after_event(event, None if event is JobEvent.RESTORED else [run.pk])
    assert check_jobs(event, run.crawl_id) == []
    assert remove_deleted_jobs() == []


def test_a_kind_that_does_not_say_what_happens_cannot_be_made():
    effects = dict.fromkeys(set(JobEvent) - {JobEvent.WITHDRAWN}, JobEffect.KEEP)

    with pytest.raises(ValueError, match="WITHDRAWN"):
        JobKind("x", "x", "done", lambda job: {}, effects)


@pytest.mark.parametrize("event", list(JobEvent))
@pytest.mark.parametrize("name", KINDS)
def test_each_event_has_the_effect_that_the_kind_says(run, name, event):
    kind = job_kinds()[name]
    job = made(kind, run)
    had_files = bool(files_of(job))
    assert had_files == kind.has_files

    happens(event, run)

    effect = kind.effects[event]
    assert visible_jobs().filter(pk=job.pk).exists() == (effect is not JobEffect.FORGET)
    assert BackgroundJob.objects.filter(pk=job.pk).exists() == (effect is not JobEffect.FORGET)
    assert bool(files_of(job)) == (had_files and effect is not JobEffect.FORGET)
    if effect is not JobEffect.FORGET:  # exports are valid: nothing has happened to their pages
        said = job.result or {"said": "words of a page"}
        job.refresh_from_db()
        assert (job.result, job.trouble) == (said, "")


@pytest.mark.parametrize("name", KINDS)
def test_what_quotes_a_page_is_gone_as_soon_as_the_page_is_withdrawn(run, name):
    job = made(job_kinds()[name], run)
    address = run.urls.earliest("pk").url

    withdraw_pages(run.crawl, run, kind="page", text=address, reason="asked", by=None)

    job.refresh_from_db()
    quotes = job_kinds()[name].effects[JobEvent.WITHDRAWN] is not JobEffect.KEEP
    assert (job.result is None) == quotes
    if quotes and name in EXPORTS:
        assert "taken down" in job.trouble
        assert files_of(job) == []


@pytest.mark.parametrize("name", KINDS)
def test_a_deleted_run_leaves_only_what_says_nothing_of_it(run, name):
    kind = job_kinds()[name]
    job = made(kind, run)

    remove_run(run, by=None, for_good=True)
    remove_rows(seconds=60)

    left = BackgroundJob.objects.filter(pk=job.pk)
    assert left.exists() == (kind.effects[JobEvent.DELETED] is JobEffect.KEEP)
    assert files_of(job) == []


@pytest.mark.parametrize("name", KINDS)
def test_a_job_that_is_asked_for_is_done_no_more_once_it_is_forgotten(run, name):
    kind = job_kinds()[name]
    event = JobEvent.DELETED
    job = open_job(kind, run, {"about": "a test"}, by=None)
    BackgroundJob.objects.filter(pk=job.pk).update(began_at=timezone.now())

    delete_jobs_after_event(event, [run.pk])

    forgotten = kind.effects[event] is JobEffect.FORGET
    assert end_job(job, {"said": "too late"}) is not forgotten
