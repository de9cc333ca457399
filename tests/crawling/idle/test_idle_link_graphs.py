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

from allocation.models import Process, ProcessState, RequestKind
from allocation.services import finish_process, register_process, request_resources
from crawling.errors import WrongState
from crawling.idle.link_graphs import LEAST_MIB, compute_when_idle
from crawling.jobs import turns
from crawling.jobs.rq_jobs import LINK_GRAPH
from crawling.jobs.temporary_grant import IDLE
from crawling.jobs.turns import IdleTurn
from crawling.link_graph import computation, drawing_steps
from crawling.link_graph.drawings import HostNodes
from crawling.link_graph.graphs import (
    MOST_BROKEN,
    NO_TIME,
    computed_graph,
    note_broken_step,
    open_graph,
)
from crawling.link_graph.tables import TABLES, ask
from crawling.links.catch_up import catch_up
from crawling.process.child_process import ChildLost
from tests.crawling.pages import browser
from tests.stack import background_queue, wait_until


@pytest.fixture
def run(make_site, crawl_to_the_end):
    links = "".join(f"<a href=/{number}>l</a>" for number in range(5))
    links += "".join(f"<a href=http://www{number}.test/>l</a>" for number in range(3))
    pages = {f"/{number}": '<a href="/">home</a>' for number in range(5)}
    run = crawl_to_the_end(f"{make_site({'/': links, **pages}).url}/")
    catch_up(run.pk)
    return run


@pytest.fixture
def graph(run):
    return open_graph(run)


@pytest.fixture
def background(graph):
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
    return browser("viewer").get(f"/crawls/{run.crawl_id}/graph/").content.decode()


def files(run):
    return len(list((settings.ARCHIVE_DIR / f"graph{run.pk}").iterdir()))


def test_it_waits_for_memory_that_no_crawl_needs_and_says_so(
    run, graph, background, wants, monkeypatch
):
    monkeypatch.setattr(turns, "WAIT_SECONDS", 0.1)
    crawl, seen = wants(), set()
    assert "could not spare" in compute_when_idle(graph.pk)
    assert f"it waits for {LEAST_MIB} MiB of memory that no crawl needs" in graph_page(run)
    finish_process(process=crawl)

    def left(self):
        process = Process.objects.get(run_ref=f"moment/link-graph-{graph.pk}", state="active")
        seen.add((process.priority, sum(process.allocated)))
        return math.inf

    monkeypatch.setattr(IdleTurn, "seconds_left", left)
    assert compute_when_idle(graph.pk) == "it is computed"

    assert seen == {(IDLE, LEAST_MIB)}
    assert not Process.objects.filter(state=ProcessState.ACTIVE, run_ref__contains="link").exists()
    assert (computed_graph(run).waits, files(run)) == ("", len(TABLES))


def test_each_turn_does_a_step_although_others_want_the_memory_at_once(
    run, graph, background, wants, monkeypatch
):
    steps = computation.compute_steps

    def steps_with_others(graph_id, goes_on):
        wants()
        while goes_on():
            time.sleep(0.01)  # until the job has seen them
        return steps(graph_id, goes_on)

    with monkeypatch.context() as during:
        during.setattr(computation, "compute_steps", steps_with_others)
        for turn in range(1, 4):
            assert compute_when_idle(graph.pk) == "others wait"
            crawl = Process.objects.filter(label="c").latest("pk").pk
            assert has_memory(crawl)
            assert files(run) == turn
            finish_process(process=crawl)
    assert "continues then" in graph_page(run)

    assert compute_when_idle(graph.pk) == "it is computed"
    assert ask(computed_graph(run), "SELECT count(*) FROM links") == [(10,)]
    assert files(run) == len(TABLES)


def test_others_have_the_memory_within_5_s_whatever_a_step_is_at(
    run, graph, background, wants, monkeypatch
):
    with monkeypatch.context() as during:
        during.setattr(computation, "components", endless)
        with forked_job(graph) as job:
            wait_until(lambda: table_file(run, "links"), seconds=30)
            (child,) = psutil.Process(job).children()
            asked_at, crawl = time.monotonic(), wants()
            wait_until(lambda: has_memory(crawl), seconds=20)
            took = time.monotonic() - asked_at
            assert not child.is_running()
    kept = table_file(run, "links").stat().st_mtime_ns

    assert took < 5
    assert f"its next step was broken off 1 of at most {MOST_BROKEN} times" in graph_page(run)
    finish_process(process=crawl)
    assert compute_when_idle(graph.pk) == "it is computed"
    assert table_file(run, "links").stat().st_mtime_ns == kept
    row = computed_graph(run)
    assert (row.attempts, row.broken_steps, row.waits, files(run)) == (0, 0, "", len(TABLES))


def test_what_leads_to_the_first_drawing_is_kept_although_each_turn_is_killed_in_it(
    run, graph, background, wants, monkeypatch
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
        with forked_job(graph):
            wait_until(lambda turn=turn: len(added_slices(run)) == turn, seconds=30)
            crawl = wants()
            wait_until(lambda crawl=crawl: has_memory(crawl), seconds=20)
        assert kept.items() <= added_slices(run).items()
        kept = added_slices(run)
        graph.refresh_from_db()
        assert (len(kept), graph.broken_steps) == (turn, 1)
        finish_process(process=crawl)

    assert compute_when_idle(graph.pk) == "it is computed"
    drawn = "SELECT count(*), sum(links) FROM drawn_lines"
    assert ask(computed_graph(run), drawn) == [(3, 3)]


def test_a_step_that_others_never_leave_the_time_for_is_given_up(
    run, graph, background, monkeypatch
):
    monkeypatch.setattr(computation, "components", endless)
    monkeypatch.setattr(IdleTurn, "seconds_left", lambda self: 0.0)
    for broken in range(1, MOST_BROKEN):
        assert note_broken_step(graph.pk) == "others wait"
        graph.refresh_from_db()
        assert f"broken off {broken} of" in graph.waits

    assert compute_when_idle(graph.pk) == NO_TIME
    assert NO_TIME in graph_page(run)
    assert not (settings.ARCHIVE_DIR / f"graph{run.pk}").exists()


def test_a_step_ends_in_time_to_give_back_within_five_seconds():
    assert turns.LOOK_SECONDS + turns.STEP_SECONDS < 5


def test_a_job_whose_child_is_killed_gives_its_units_back_and_is_continued(
    run, graph, background, monkeypatch
):
    with monkeypatch.context() as during:
        during.setattr(computation, "step_done", lambda graph: os.kill(os.getpid(), signal.SIGKILL))
        with pytest.raises(ChildLost):
            compute_when_idle(graph.pk)
    graph.refresh_from_db()
    assert (graph.attempts, graph.broken_steps, files(run)) == (1, 0, 1)
    assert not Process.objects.filter(state=ProcessState.ACTIVE, run_ref__contains="link").exists()

    assert compute_when_idle(graph.pk) == "it is computed"


def test_a_killed_job_takes_its_child_along_and_its_units_come_back(
    run, graph, background, monkeypatch
):
    with monkeypatch.context() as during:
        during.setattr(computation, "components", endless)
        with forked_job(graph) as job:
            wait_until(lambda: table_file(run, "links"), seconds=30)
            (child,) = psutil.Process(job).children()
            os.kill(job, signal.SIGKILL)
    wait_until(lambda: not child.is_running() or child.status() == "zombie", seconds=5)
    left = Process.objects.get(state=ProcessState.ACTIVE, run_ref__contains="link-graph")
    assert sum(left.allocated) == LEAST_MIB

    assert compute_when_idle(graph.pk) == "it is computed"

    left.refresh_from_db()
    assert left.state == ProcessState.FINISHED
    assert files(run) == len(TABLES)


@contextmanager
def forked_job(graph):
    """A process that does the job, as a worker's does; gives its number."""
    connections.close_all()
    if (job := os.fork()) == 0:
        try:
            compute_when_idle(graph.pk)
        finally:
            os._exit(0)
    try:
        yield job
    except BaseException:
        os.kill(job, signal.SIGKILL)  # it might be at a step that never ends
        raise
    finally:
        with suppress(ProcessLookupError):
            os.waitpid(job, 0)


def endless(_edges, _kind):
    time.sleep(600)  # stands for a call into a library that takes minutes


def added_slices(run):
    """The files with the links of a slice of the lines between hosts, and when each was written."""
    found = (settings.ARCHIVE_DIR / f"graph{run.pk}").glob("*.drawn-0*.npz")
    return {file.name: file.stat().st_mtime_ns for file in found}


def table_file(run, table):
    """None: no job has written it yet."""
    found = (settings.ARCHIVE_DIR / f"graph{run.pk}").glob(f"*.{table}.parquet")
    return next(found, None)


def test_one_job_at_a_time_computes_it(graph, background):
    with ThreadPoolExecutor(1) as other, LINK_GRAPH.alone(graph.pk):
        assert "another worker" in other.submit(in_a_thread, compute_when_idle, graph.pk).result()
        with pytest.raises(WrongState):
            other.submit(in_a_thread, computation.compute, graph.pk).result()


def in_a_thread(function, *args):
    try:
        return function(*args)
    finally:
        connections.close_all()
