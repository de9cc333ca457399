"""The mechanism of background jobs: what ends them, what lets them wait, what is left of them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import PermissionDenied
from django.db.models import F
from django.utils import timezone

from crawling.base.errors import CrawlError, WrongState
from crawling.base.storage import UNFINISHED, storage
from crawling.jobs import kinds
from crawling.jobs.cancel import cancel_job, clear_cancelled_jobs, run_job_again
from crawling.jobs.due_jobs import PAUSE, REST, request_due_jobs
from crawling.jobs.enqueue import open_job
from crawling.jobs.job_rows import job_file_prefix, open_jobs
from crawling.jobs.kinds import KEPT_HOUR, OF_ROWS, DueJob, JobEvent, JobKind, JobScope
from crawling.jobs.removal import delete_jobs, delete_jobs_after_event, remove_deleted_jobs
from crawling.jobs.retention import end_and_delete_old_jobs
from crawling.jobs.running import FAULT, GONE, run_in_this_process, run_job
from crawling.jobs.running_job import JobGone, JobWaits
from crawling.models import BackgroundJob, Inquiry, Run
from crawlsite.administration.accounts import make_roles
from tests.stack import background_queue


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    return crawl_once(f"{shared.serve({'/': 'a page'}).url}/")


@pytest.fixture
def run(crawled, db):
    with background_queue():
        yield Run.objects.get(pk=crawled.pk)


@pytest.fixture
def a_kind(monkeypatch):
    """Registers a kind for the test, with the work and what else is given."""

    def made(work=lambda job: {}, **facts):
        facts = {"effects": OF_ROWS} | facts
        kind = JobKind("of-a-test", "work of a test", "done", work, **facts)
        monkeypatch.setitem(kinds._KINDS, kind.name, kind)
        return kind

    return made


def asked(kind, run, **facts):
    return open_job(kind, run, by=None, **facts)


def again(job):
    job.refresh_from_db()
    return job


def raising(error):
    def work(job):
        raise error

    return work


def test_a_job_with_a_reason_why_there_is_no_result_fails_at_once(run, a_kind):
    job = asked(a_kind(raising(CrawlError("The disk is full."))), run)

    assert run_job(job.pk) == "The disk is full."
    assert (again(job).state, job.trouble) == ("failed", "The disk is full.")
    assert "over" in run_job(job.pk)


def test_a_fault_is_tried_three_times_and_ends_the_job(run, a_kind):
    job = asked(a_kind(raising(ZeroDivisionError())), run)
    for attempt in (1, 2, 3):
        assert again(job).is_open, attempt
        with pytest.raises(ZeroDivisionError):
            run_job(job.pk)

    assert (again(job).state, job.trouble) == ("failed", FAULT)


def test_a_fault_behind_a_bookmark_is_tried_anew(run, a_kind):
    def work(job):
        job.bookmark((job.row.bookmark or 0) + 1, done=1, of=10)
        raise ZeroDivisionError

    job = asked(a_kind(work), run)
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            run_job(job.pk)

    assert (again(job).bookmark, job.is_open, job.percent) == (5, True, 10)


def test_what_waits_says_so_and_that_is_no_attempt(run, a_kind):
    job = asked(a_kind(raising(JobWaits("another process writes the index"))), run)
    for _ in range(5):
        run_job(job.pk)

    assert (again(job).state, job.waits) == ("waiting", "another process writes the index")
    assert job.attempts == 0


def test_a_job_whose_work_is_gone_is_over(run, a_kind):
    job = asked(a_kind(raising(JobGone())), run)

    assert run_job(job.pk) == GONE
    assert (again(job).state, job.trouble) == ("failed", GONE)


def test_a_killed_worker_counts_and_a_stopped_one_does_not(run, a_kind):
    stops = a_kind(raising(KeyboardInterrupt()), attempts=1)
    job = asked(stops, run)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            run_job(job.pk)
    assert again(job).is_open

    BackgroundJob.objects.filter(pk=job.pk).update(attempts=F("attempts") + 1)  # as by a kill
    assert "broken off once" in run_job(job.pk)
    assert again(job).state == "failed"


def test_a_command_that_is_interrupted_ends_its_own_job_and_no_users(run, a_kind):
    kind = a_kind(raising(KeyboardInterrupt()))
    states = []
    for by in (None, User.objects.create_user("ada")):
        job = open_job(kind, run, by=by)
        with pytest.raises(KeyboardInterrupt):
            run_in_this_process(job)
        states.append(again(job).state)

    assert states == ["failed", "waiting"]


def test_what_a_killed_job_has_begun_to_write_is_removed(run, a_kind):
    job = asked(a_kind(has_files=True, attempts=1), run)
    storage().put(job.file("whole"), [b"x"])
    begun = storage().path(job.file("part") + UNFINISHED)
    begun.write_bytes(b"half")
    BackgroundJob.objects.filter(pk=job.pk).update(attempts=1)

    run_job(job.pk)

    assert not begun.parent.exists()


def test_files_that_are_on_another_machine_keep_their_row(run, a_kind):
    kind = a_kind(has_files=True, keeps_latest_only=True)
    there, here = (
        BackgroundJob.objects.create(
            kind=kind.name, run=run, name=job_file_prefix(kind.name, 7), **facts
        )
        for facts in ({"machine": "another", "result": {}}, {"machine": "this"})
    )
    storage().put(here.file("whole"), [b"x"])
    delete_jobs(BackgroundJob.objects.filter(pk=there.pk))

    remove_deleted_jobs()

    assert again(there).is_forgotten
    assert storage().list(here.name.partition("/")[0])


def test_a_row_of_another_version_stays_and_stops_nothing(run, a_kind):
    strange = {"kind": "of-tomorrow", "run": run, "is_forgotten": True}
    row = BackgroundJob.objects.create(**strange, cancelled_at=timezone.now())

    remove_deleted_jobs()
    end_and_delete_old_jobs()
    clear_cancelled_jobs()

    assert BackgroundJob.objects.filter(pk=row.pk).exists()


def test_old_jobs_go_by_their_end_and_none_that_is_at_work(run, a_kind):
    kind = a_kind(kept=KEPT_HOUR)
    at_work, done = asked(kind, run), asked(kind, run, subject="another")
    long_ago = timezone.now() - timedelta(hours=2)
    BackgroundJob.objects.filter(pk__in=[at_work.pk, done.pk]).update(asked_at=long_ago)
    BackgroundJob.objects.filter(pk=done.pk).update(ended_at=long_ago)

    end_and_delete_old_jobs()

    assert list(BackgroundJob.objects.all()) == [at_work]


def test_due_work_has_one_job_and_rests_after_its_end(run, a_kind):
    kind = a_kind(due=lambda: [DueJob(f"run {run.pk}", run.pk)], kept=KEPT_HOUR)
    mine = BackgroundJob.objects.filter(kind=kind.name)

    def after(trouble, ago):
        ended = {"ended_at": timezone.now() - ago, "trouble": trouble}
        mine.update(**ended)
        before = mine.count()
        request_due_jobs()
        return mine.count() - before

    request_due_jobs()
    request_due_jobs()

    assert mine.count() == 1
    assert after("", REST / 2) == after("No.", PAUSE / 2) == 0
    assert after("", 2 * REST) == after("No.", 2 * PAUSE) == after(GONE, 2 * REST) == 1


def test_due_work_of_a_deleted_run_stops_none_of_others(run, a_kind):
    due = [DueJob("run 0", 0), DueJob(f"run {run.pk}", run.pk)]
    kind = a_kind(due=lambda: due, kept=KEPT_HOUR)

    request_due_jobs()

    assert [job.run for job in open_jobs().filter(kind=kind.name)] == [run]


def test_only_administrators_cancel_upkeep(run, a_kind):
    job = asked(a_kind(kept=KEPT_HOUR, scope=JobScope.INSTALLATION), None)
    make_roles()
    users = {}
    for role in ("operator", "administrator"):
        users[role] = User.objects.create_user(role)
        users[role].groups.add(Group.objects.get(name=role))

    with pytest.raises(PermissionDenied, match="only administrators"):
        cancel_job(job, by=users["operator"])
    cancel_job(job, by=users["administrator"])

    assert again(job).state == "cancelled"


def test_a_question_of_another_user_is_not_run_again(run):
    ada = User.objects.create_user("ada")
    kind = kinds.job_kinds()["test_fetch"]
    job = open_job(kind, None, {"sealed": "x"}, by=ada)
    cancel_job(job, by=None)

    with pytest.raises(WrongState, match="on its page"):
        run_job_again(again(job), by=None)
    assert Inquiry.objects.count() == 1


def test_a_job_that_is_run_again_twice_is_asked_for_once(run, a_kind):
    job = asked(a_kind(raising(CrawlError("No."))), run)
    run_job(job.pk)

    first, second = (run_job_again(again(job), by=None) for _ in range(2))

    assert first == second
    assert BackgroundJob.objects.count() == 2


def test_run_again_does_not_take_other_work_for_its_own(run, a_kind):
    kind = a_kind()
    job = asked(kind, run, spec={"rules": 1})
    cancel_job(job, by=None)
    asked(kind, run, spec={"rules": 2})

    with pytest.raises(WrongState, match="other work"):
        run_job_again(again(job), by=None)


def test_answers_that_quote_another_run_go_with_it(run):
    kind = kinds.job_kinds()["copies"]
    job = open_job(kind, None, {"sealed": "x"}, by=None)

    delete_jobs_after_event(JobEvent.DELETED, [run.pk])

    assert again(job).is_forgotten
