"""A link graph is computed when no one else needs the units, step by step, whatever ends a job."""

from __future__ import annotations

import math
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connections

from allocation.models import Process, ProcessState, RequestKind
from allocation.services import finish_process, register_process, request_resources
from crawling.errors import WrongState
from crawling.idle import turns
from crawling.idle.link_graphs import LEAST_MIB, compute_when_idle
from crawling.idle.turns import IdleTurn
from crawling.link_graph import computation
from crawling.link_graph.graphs import MOST_ATTEMPTS, computed_graph, open_graph
from crawling.link_graph.measures import pagerank
from crawling.link_graph.tables import TABLES, ask
from crawling.links.catch_up import catch_up
from crawling.rq_jobs import LINK_GRAPH
from crawling.runs.held_units import IDLE
from tests.crawling.pages import browser
from tests.stack import background_queue


@pytest.fixture
def run(make_site, crawl_to_the_end):
    links = "".join(f"<a href=/{number}>l</a>" for number in range(5))
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


def test_it_ends_although_others_want_the_memory_after_each_step(
    run, graph, background, wants, looks_after_each_page, monkeypatch
):
    done, others, given_way = computation.step_done, [], 0

    def others_come(graph):
        others.append(wants())
        return done(graph)

    monkeypatch.setattr(computation, "step_done", others_come)
    while (ending := compute_when_idle(graph.pk)) == "others wait":
        given_way += 1
        assert has_memory(others[-1])
        assert given_way > 1 or "continues then" in graph_page(run)
        finish_process(process=others[-1])

    assert ending == "it is computed"
    assert given_way == len(others) - 1 > len(TABLES)
    assert ask(computed_graph(run), "SELECT count(*) FROM links") == [(10,)]
    assert files(run) == len(TABLES)


def test_a_long_step_is_broken_off_for_others_which_counts_as_no_attempt(
    run, graph, background, wants, looks_after_each_page, monkeypatch
):
    monkeypatch.setattr(turns, "STEP_SECONDS", 0.0)
    others = []

    def others_come(edges, left):
        others.append(wants())
        return pagerank(edges, left)

    with monkeypatch.context() as during:
        during.setattr(computation, "pagerank", others_come)
        for _ in range(MOST_ATTEMPTS + 1):
            assert compute_when_idle(graph.pk) == "others wait"
            assert has_memory(others[-1])
            finish_process(process=others[-1])

    assert compute_when_idle(graph.pk) == "it is computed"


def test_a_step_ends_in_time_to_give_back_within_five_seconds():
    assert turns.LOOK_SECONDS + turns.STEP_SECONDS < 5


def test_a_job_killed_between_steps_is_continued_and_its_units_come_back(run, graph, background):
    connections.close_all()
    if (killed := os.fork()) == 0:
        try:
            computation.step_done = lambda graph: os.kill(os.getpid(), signal.SIGKILL)
            compute_when_idle(graph.pk)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(killed, 0)[1]) == signal.SIGKILL
    left = Process.objects.get(state=ProcessState.ACTIVE, run_ref__contains="link-graph")
    assert (sum(left.allocated), files(run)) == (LEAST_MIB, 1)

    assert compute_when_idle(graph.pk) == "it is computed"

    left.refresh_from_db()
    assert left.state == ProcessState.FINISHED
    assert files(run) == len(TABLES)


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
