"""Second readings begin by themselves, hold a grant that comes after everybody's, and continue."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from uuid import uuid4

import django_rq
import pytest
from django.conf import settings
from django.db import connections

from allocation.models import Process, ProcessState, RequestKind
from allocation.services import finish_process, register_process, request_resources
from crawling.datasets import second_reading
from crawling.datasets.catch_up import catch_up
from crawling.datasets.jobs import SECOND_READING
from crawling.datasets.lag import lags_of
from crawling.datasets.parquet import TEXTS, rows_in
from crawling.datasets.part_writer import PartWriter
from crawling.datasets.progress import unread_parts
from crawling.datasets.second_reading import read_part, read_run_again
from crawling.jobs import turns
from crawling.jobs.due_jobs import request_due_jobs
from crawling.jobs.enqueue import open_job
from crawling.jobs.rq_jobs import IDLE as IDLE_QUEUE
from crawling.jobs.rq_jobs import RUN_JOB, exclusive_lock
from crawling.jobs.temporary_grant import IDLE, TEMPORARY_REF
from crawling.jobs.turns import IdleTurn
from crawling.models import BackgroundJob, LinksPart, Page, Run
from crawling.uses.link_check.jobs import PROBLEM_COUNTS
from crawling.uses.search.jobs import INDEXING
from tests.crawling.reading import read_when_idle
from tests.stack import background_queue


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    words = "<title>T{0}</title><main>words {0}</main>"
    pages = {f"/{number}": words.format(number) for number in range(5)}
    links = "".join(f"<a href=/{number}>l</a>" for number in range(5))
    site = shared.serve({"/": f"<title>Home</title>{links}", **pages, "/data": "x"})
    run = crawl_once(f"{site.url}/")
    shared.do(catch_up, run.pk)
    return run


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def background():
    with background_queue() as queue:
        yield queue


def behind(run):
    return {state.name: state.behind for state in lags_of(run)}


def test_it_begins_by_itself_once_links_are_written(run, background):
    assert behind(run) == {"links": 0, "texts": 6, "structured data": 6, "search": 6}

    idle = django_rq.get_queue(IDLE_QUEUE)

    request_due_jobs()

    (name,) = idle.job_ids
    assert (BackgroundJob.objects.get().kind, background.job_ids) == (SECOND_READING.name, [])
    waiting = idle.fetch_job(name)
    idle.remove(waiting)
    waiting.perform()
    indexing = BackgroundJob.objects.get(kind=INDEXING.name)
    assert behind(run)["search"] == 6
    idle.fetch_job(f"job-{indexing.pk}").perform()
    assert behind(run) == dict.fromkeys(("links", "texts", "structured data", "search"), 0)
    request_due_jobs()
    counting = BackgroundJob.objects.get(ended_at=None)
    assert (counting.kind, idle.fetch_job(f"job-{counting.pk}").get_status()) == (
        PROBLEM_COUNTS.name,
        "queued",
    )


def test_it_holds_memory_at_idle_priority_and_gives_it_back(run, background, monkeypatch):
    seen = []

    def look(self):
        process = Process.objects.get(run_ref__startswith="moment/job-", state="active")
        seen.append((process.priority, sum(process.allocated)))
        return True

    monkeypatch.setattr(IdleTurn, "goes_on", look)
    read_when_idle(run.pk)

    assert seen[0] == (IDLE, SECOND_READING.memory(BackgroundJob()))
    assert not Process.objects.filter(state=ProcessState.ACTIVE, run_ref__contains="job").exists()


def test_it_gives_way_to_whoever_waits_for_memory_and_continues_there(
    run, pool, background, looks_after_each_page, monkeypatch
):
    crawl = register_process(pool=pool.pk, label="c", run_ref="x", maximum={"memory": 512}).pk
    read = second_reading._read_page

    def waits(run, page, microformats):
        monkeypatch.setattr(second_reading, "_read_page", read)
        request_resources(
            process=crawl, amounts={"memory": 512}, request_id=uuid4(), kind=RequestKind.START
        )
        return read(run, page, microformats)

    monkeypatch.setattr(second_reading, "_read_page", waits)
    assert read_when_idle(run.pk) == "others wait"
    assert Process.objects.get(pk=crawl).allocated[3] == 512  # it came at once
    (part,) = unread_parts(run)
    assert len(rows_in(part.texts_name, TEXTS)) == 1

    assert "could not spare" in read_when_idle(run.pk)
    finish_process(process=crawl)
    assert read_when_idle(run.pk) == "read"
    assert len({row[0] for row in rows_in(part.texts_name, TEXTS)}) == 6


def test_who_waits_for_something_else_is_not_given_way_to(
    run, pool, background, looks_after_each_page
):
    threads = {"fetch_slots": 64}
    for reference in ("has", "waits"):
        one = register_process(pool=pool.pk, label=reference, run_ref=reference, maximum=threads)
        request_resources(
            process=one.pk, amounts=threads, request_id=uuid4(), kind=RequestKind.START
        )

    assert read_when_idle(run.pk) == "read"


def test_it_gives_way_to_a_job_that_a_user_waits_for(run, background, looks_after_each_page):
    background.enqueue_call(RUN_JOB, args=(-1,))

    assert read_when_idle(run.pk) == "others wait"

    background.empty()
    assert read_when_idle(run.pk) == "read"


@pytest.mark.parametrize(("seconds", "became"), [(0.0, "others wait"), (60.0, "read")])
def test_readings_of_other_runs_wait_until_its_turn_is_over(
    run, background, looks_after_each_page, monkeypatch, seconds, became
):
    monkeypatch.setattr(turns, "TURN_SECONDS", seconds)
    SECOND_READING.job.enqueue(-1)

    assert read_when_idle(run.pk) == became


def test_what_a_killed_reading_has_left_is_cleared_away(run, pool, background):
    job = open_job(SECOND_READING, run, by=None)
    reference, all_of_it = f"{TEMPORARY_REF}job-{job.pk}", {"memory": 512}
    left = register_process(pool=pool.pk, label="l", run_ref=reference, maximum=all_of_it)
    request_resources(
        process=left.pk, amounts=all_of_it, request_id=uuid4(), kind=RequestKind.START
    )

    assert read_when_idle(run.pk) == "read"

    left.refresh_from_db()
    assert left.state == ProcessState.FINISHED


@contextmanager
def read_by_another(part):
    """As if another process read the part, until the block ends or what is yielded is called."""
    held, let_go = Event(), Event()

    def hold():
        try:
            with exclusive_lock("read-again", part.pk) as is_alone:
                held.set()
                let_go.wait(60)
                return is_alone
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as other:
        holding = other.submit(hold)
        held.wait(60)

        def end():
            let_go.set()
            assert holding.result()

        try:
            yield end
        finally:
            let_go.set()


def test_a_command_and_the_job_read_no_part_at_once(run, background, monkeypatch):
    (part,) = unread_parts(run)
    read, looks = [], []
    with read_by_another(part) as end:
        assert read_when_idle(run.pk) == "a command reads the rest"
        assert behind(run)["texts"] == 6

        monkeypatch.setattr(second_reading, "sleep", lambda seconds: (looks.append(1), end()))
        read_run_again(run.pk, note=read.append)

    assert (looks, read) == ([1], [6])
    assert read_part(run, part) == 0  # it was read since it was looked up
    assert read_when_idle(run.pk) == "read"


def test_a_reading_is_dropped_if_its_pages_change_meanwhile(run, monkeypatch):
    (part,) = unread_parts(run)
    read = second_reading._read_page

    def withdrawn(run, page, microformats):
        LinksPart.objects.filter(pk=part.pk).update(name=f"links{run.pk}/{'0' * 32}.parquet")
        return read(run, page, microformats)

    monkeypatch.setattr(second_reading, "_read_page", withdrawn)
    read_part(run, part)

    folder = settings.ARCHIVE_DIR / f"links{run.pk}"
    assert not list(folder.glob("*.texts.parquet"))


def test_a_shift_stores_links_soon_and_of_an_old_run_less_often(run, monkeypatch):
    page = Page.objects.filter(run=run).first()
    writers = [PartWriter(run.pk, 1), PartWriter(run.pk, 1, run.started_at.replace(year=2000))]
    waits = []
    for writer in writers:
        writer.open()
        waits.append(writer._due_at)

    assert page
    assert waits[1] - waits[0] > 24 * 60 * 60
