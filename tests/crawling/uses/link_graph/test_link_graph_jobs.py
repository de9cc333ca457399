"""A link graph is computed when no one else needs the units, step by step, whatever ends a job."""

from __future__ import annotations

import math
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from uuid import uuid4

import psutil
import pytest
from django.conf import settings
from django.db import connections
from django_rq import get_queue

from allocation.models import Process, ProcessState, RequestKind
from allocation.services import finish_process, register_process, request_resources
from crawling.base.errors import WrongState
from crawling.datasets.catch_up import catch_up
from crawling.jobs import rq_jobs, turns
from crawling.jobs.enqueue import open_job
from crawling.jobs.rq_jobs import BACKGROUND
from crawling.jobs.running import run_in_this_process, run_job
from crawling.jobs.running_job import RunningJob
from crawling.jobs.temporary_grant import IDLE
from crawling.jobs.turns import IdleTurn
from crawling.machine.child_process import ChildLost
from crawling.models import BackgroundJob
from crawling.uses.link_graph import computation, drawing_steps
from crawling.uses.link_graph.drawings import HostNodes
from crawling.uses.link_graph.jobs import LEAST_MIB, LINK_GRAPH
from crawling.uses.link_graph.lists import GRAPH
from tests.crawling.pages import browser
from tests.stack import background_queue, wait_until


@pytest.fixture
def run(make_site, crawl_to_the_end):
    links = "".join(f"<a href=/{number}>l</a>" for number in range(5))
    links += "".join(f"<a href=http://www{number}.test/>l</a>" for number in range(3))
    pages = {f"/{number}": '<a href="/">home</a>' for number in range(5)}
    run = crawl_to_the_end(f"{make_site({'/': links, **pages}).url}/")
    catch_up(run.pk)
    with (
        background_queue()
    ):  # the count of broken links, for which idle jobs give way, is elsewhere
        yield run


@pytest.fixture
def job(run):
    return open_job(LINK_GRAPH, run, by=None)


@pytest.fixture
def background(job):
    with background_queue() as queue:
        yield queue


@pytest.fixture
def wants(pool):
    """Lets another process request all the memory; gives the process."""

    def ask_for_it():
        maximum = {"memory": 512}
        one = register_process(pool=pool.pk, label="c", run_ref="x", maximum=maximum).pk
        request_resources(process=one, amounts=maximum, request_id=uuid4(), kind=RequestKind.START)
        return one

    return ask_for_it


def has_memory(process):
    return bool(Process.objects.get(pk=process).allocated[3])


def graph_page(run):
    page = browser("viewer").get(f"/crawls/{run.crawl_id}/graph/").content.decode()
    # it asks for what it lacks, and other idle jobs give way to that
    for name in (BACKGROUND, rq_jobs.IDLE):
        get_queue(name).empty()
    return page


def files(run):
    return len(list((settings.ARCHIVE_DIR / f"link-graph{run.pk}").iterdir()))


def test_it_waits_for_memory_that_no_crawl_needs_and_says_so(
    run, job, background, wants, monkeypatch
):
    monkeypatch.setattr(turns, "WAIT_SECONDS", 0.1)
    crawl, seen = wants(), set()
    assert "could not spare" in run_job(job.pk)
    assert f"it waits for {LEAST_MIB} MiB of memory that no crawl needs" in graph_page(run)
    finish_process(process=crawl)

    def left(self):
        process = Process.objects.get(run_ref=f"moment/job-{job.pk}", state="active")
        seen.add((process.priority, sum(process.allocated)))
        return math.inf

    monkeypatch.setattr(IdleTurn, "seconds_left", left)
    assert run_job(job.pk) == "computed"

    assert seen == {(IDLE, LEAST_MIB)}
    assert not Process.objects.filter(state=ProcessState.ACTIVE, run_ref__contains="job-").exists()
    job.refresh_from_db()
    assert (job.waits, files(run)) == ("", len(GRAPH.tables))


def test_each_turn_does_a_step_although_others_want_the_memory_at_once(
    run, job, background, wants, monkeypatch
):
    compute = computation.continue_computation

    def compute_with_others(running):
        wants()
        while running.goes_on():
            time.sleep(0.01)  # until the job has seen them
        return compute(running)

    with monkeypatch.context() as during:
        during.setattr(computation, "continue_computation", compute_with_others)
        for turn in range(1, 4):
            assert run_job(job.pk) == "others wait"
            crawl = Process.objects.filter(label="c").latest("pk").pk
            assert has_memory(crawl)
            assert files(run) == turn
            finish_process(process=crawl)
    assert "continues then" in graph_page(run)

    assert run_job(job.pk) == "computed"
    assert GRAPH.latest(run).ask("SELECT count(*) FROM links") == [(10,)]
    assert files(run) == len(GRAPH.tables)


def test_others_have_the_memory_within_5_s_whatever_a_step_is_at(
    run, job, background, wants, monkeypatch
):
    with monkeypatch.context() as during:
        during.setattr(computation, "find_components", endless)
        with forked_job(job) as worker:
            wait_until(lambda: table_file(run, "links"), seconds=30)
            (child,) = psutil.Process(worker).children()
            asked_at, crawl = time.monotonic(), wants()
            wait_until(lambda: has_memory(crawl), seconds=20)
            took = time.monotonic() - asked_at
            assert not child.is_running()
    kept = table_file(run, "links").stat().st_mtime_ns

    assert took < 5
    assert f"its next step was broken off 1 of at most {LINK_GRAPH.breaks} times" in graph_page(run)
    finish_process(process=crawl)
    assert run_job(job.pk) == "computed"
    assert table_file(run, "links").stat().st_mtime_ns == kept
    job.refresh_from_db()
    assert (job.attempts, job.breaks, job.waits, files(run)) == (0, 0, "", len(GRAPH.tables))


def test_what_leads_to_the_first_drawing_is_kept_although_each_turn_is_killed_in_it(
    run, job, background, wants, monkeypatch
):
    monkeypatch.setattr(drawing_steps, "SLICE", 1)
    monkeypatch.setattr(turns, "STEP_SECONDS", 2.0)
    of_slice, done = HostNodes.pairs, []

    def one_then_endless(self, lines):
        if done:
            endless(self, lines)
        done.append(lines)
        return of_slice(self, lines)

    monkeypatch.setattr(HostNodes, "pairs", one_then_endless)
    kept = {}
    for turn in (1, 2):
        with forked_job(job):
            wait_until(lambda turn=turn: len(added_slices(run)) == turn, seconds=30)
            crawl = wants()
            wait_until(lambda crawl=crawl: has_memory(crawl), seconds=20)
        assert kept.items() <= added_slices(run).items()
        kept = added_slices(run)
        job.refresh_from_db()
        assert (len(kept), job.breaks) == (turn, 1)
        finish_process(process=crawl)

    assert run_job(job.pk) == "computed"
    drawn = "SELECT count(*), sum(links) FROM drawn_lines"
    assert GRAPH.latest(run).ask(drawn) == [(3, 3)]


def test_a_step_that_others_never_leave_the_time_for_is_given_up(run, job, background, monkeypatch):
    monkeypatch.setattr(computation, "find_components", endless)
    monkeypatch.setattr(IdleTurn, "seconds_left", lambda self: 0.0)
    BackgroundJob.objects.update(breaks=LINK_GRAPH.breaks - 2)
    assert run_job(job.pk) == "others wait"
    job.refresh_from_db()
    assert f"broken off {LINK_GRAPH.breaks - 1} of at most {LINK_GRAPH.breaks}" in job.waits

    assert run_job(job.pk) == LINK_GRAPH.no_time
    assert LINK_GRAPH.no_time in graph_page(run)
    assert not (settings.ARCHIVE_DIR / f"link-graph{run.pk}").exists()


def test_a_step_ends_in_time_to_give_back_within_five_seconds():
    assert turns.LOOK_SECONDS + turns.STEP_SECONDS < 5


def test_a_job_whose_child_is_killed_gives_its_units_back_and_is_continued(
    run, job, background, monkeypatch
):
    with monkeypatch.context() as during:
        during.setattr(RunningJob, "bookmark", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        with pytest.raises(ChildLost):
            run_job(job.pk)
    job.refresh_from_db()
    assert (job.attempts, job.breaks, files(run)) == (1, 0, 1)
    assert not Process.objects.filter(state=ProcessState.ACTIVE, run_ref__contains="job-").exists()

    assert run_job(job.pk) == "computed"


def test_a_killed_job_takes_its_child_along_and_its_units_come_back(
    run, job, background, monkeypatch
):
    with monkeypatch.context() as during:
        during.setattr(computation, "find_components", endless)
        with forked_job(job) as worker:
            wait_until(lambda: table_file(run, "links"), seconds=30)
            (child,) = psutil.Process(worker).children()
            os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not child.is_running() or child.status() == "zombie", seconds=5)
    left = Process.objects.get(state=ProcessState.ACTIVE, run_ref__contains="job-")
    assert sum(left.allocated) == LEAST_MIB

    assert run_job(job.pk) == "computed"

    left.refresh_from_db()
    assert left.state == ProcessState.FINISHED
    assert files(run) == len(GRAPH.tables)


@contextmanager
def forked_job(job):
    """A process that does the job, as a worker's does; gives its number."""
    connections.close_all()
    if (worker := os.fork()) == 0:
        try:
            run_job(job.pk)
        finally:
            os._exit(0)
    try:
        yield worker
    except BaseException:
        os.kill(worker, signal.SIGKILL)  # it might be at a step that never ends
        raise
    finally:
        with suppress(ProcessLookupError):
            os.waitpid(worker, 0)


def endless(_edges, _kind):
    time.sleep(600)  # stands for a call into a library that takes minutes


def added_slices(run):
    """The files with the links of a slice of the lines between hosts, and when each was written."""
    found = (settings.ARCHIVE_DIR / f"link-graph{run.pk}").glob("*.drawn-0*.npz")
    return {file.name: file.stat().st_mtime_ns for file in found}


def table_file(run, table):
    """None: no job has written it yet."""
    found = (settings.ARCHIVE_DIR / f"link-graph{run.pk}").glob(f"*.{table}.parquet")
    return next(found, None)


def test_one_job_at_a_time_computes_it(job, background):
    with ThreadPoolExecutor(1) as other, LINK_GRAPH.job.alone(job.pk):
        assert "another worker" in other.submit(in_a_thread, run_job, job.pk).result()
        with pytest.raises(WrongState):
            other.submit(in_a_thread, run_in_this_process, job).result()


def in_a_thread(function, *args):
    try:
        return function(*args)
    finally:
        connections.close_all()
