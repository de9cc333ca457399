"""Programs wait for a place, or are refused at once and without a query; operators wait for none of
them.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import Event, Thread
from typing import NamedTuple

import pytest
from django.core.cache import cache
from django.db import connection
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from crawlsite.api import admission
from crawlsite.api.admission import AdmissionMiddleware, MachineLoad
from crawlsite.middleware.program_admission import admission_of
from serving import visitors as limiting
from tests.api.conftest import Program


@pytest.fixture
def two_a_minute(settings, monkeypatch):
    settings.API_REQUESTS_A_MINUTE = 2
    monkeypatch.setattr(limiting, "time", lambda: 1_000_000_030.0)
    cache.clear()


@pytest.mark.parametrize("way", ["token", "session"])
def test_who_is_told_to_wait_is_told_so_again_without_a_query(
    two_a_minute, programs, people, way, caplog
):
    program = programs["viewer"]
    if way == "session":
        program = Program()
        program.client.force_login(people["viewer"])
    assert [program("GET", "pools")[0] for _ in range(3)] == [200, 200, 429]

    caplog.clear()
    with CaptureQueriesContext(connection) as queries:
        answer = program.client.get("/api/v1/pools", headers=program.headers)

    assert (answer.status_code, answer.headers["Retry-After"], len(queries)) == (429, "50", 0)
    assert "ask again in 50 s" in answer.json()["detail"]
    assert caplog.records == []  # or the log would grow as fast as it asks


class Slow:
    """A view that answers when it is let."""

    def __init__(self) -> None:
        self.began, self.may_end = Event(), Event()

    def __call__(self, request):
        self.began.set()
        assert self.may_end.wait(30)
        return HttpResponse("done")


def test_where_all_places_are_taken_a_program_is_refused_and_an_operator_served(settings):
    settings.WEB_THREADS = 2
    slow, request = Slow(), RequestFactory()
    gate = AdmissionMiddleware(
        lambda one: slow(one) if one.path == "/api/v1/crawls" else HttpResponse("page")
    )
    answers = []
    first = Thread(target=lambda: answers.append(gate(request.get("/api/v1/crawls"))))
    first.start()
    assert slow.began.wait(30)

    refused = gate(request.get("/api/v1/pools"))
    page = gate(request.get("/crawls/"))
    slow.may_end.set()
    first.join()

    assert (refused.status_code, refused["Retry-After"]) == (503, "1")
    assert page.content == b"page"
    assert answers[0].content == b"done"
    assert gate(request.get("/api/v1/pools")).content == b"page"


def test_a_program_that_has_a_place_waits_for_its_turn(settings):
    settings.WEB_THREADS = 8
    slow, request, served = Slow(), RequestFactory(), []
    gate = AdmissionMiddleware(
        lambda one: slow(one) if one.path == "/api/v1/crawls" else HttpResponse("page")
    )
    threads = [
        Thread(target=lambda path=path: served.append(gate(request.get(path)).content))
        for path in ("/api/v1/crawls", "/api/v1/pools")
    ]
    threads[0].start()
    assert slow.began.wait(30)
    threads[1].start()
    slow.may_end.set()
    for thread in threads:
        thread.join()

    assert served == [b"done", b"page"]


class Times(NamedTuple):
    user: float
    idle: float


@pytest.fixture
def busy(monkeypatch):
    """A machine with nothing to spare, on a clock of its own."""
    clock, slept = [100.0], []
    monkeypatch.setattr(admission, "SHARE", 0.2)
    monkeypatch.setattr(admission.psutil, "cpu_times", lambda: Times(2 * clock[0], 7.0))
    monkeypatch.setattr(admission, "monotonic", lambda: clock[0])
    monkeypatch.setattr(admission, "sleep", slept.append)
    return clock, slept


@contextmanager
def all_places_but_one(places):
    taken = 0
    while places.admit():
        taken += 1
    places.leave()
    yield
    for _ in range(taken - 1):
        places.leave()


def test_on_a_busy_machine_programs_that_crowd_rest_after_each_request(busy, settings):
    clock, slept = busy
    request = RequestFactory()

    def view(one):
        clock[0] += 0.1
        if one.path == "/api/v1/crawls":
            gate(request.get("/metrics"))  # another asks meanwhile
        return HttpResponse("done")

    gate = AdmissionMiddleware(view)
    clock[0] += admission.LOOK_SECONDS

    with all_places_but_one(admission_of(settings.WEB_THREADS)):
        gate(request.get("/api/v1/crawls"))
    gate(request.get("/api/v1/pools"))

    assert slept == [0.0, pytest.approx(0.4)]


def test_a_program_that_asks_for_one_thing_after_the_other_does_not_rest(busy):
    _, slept = busy
    gate = AdmissionMiddleware(lambda one: HttpResponse("done"))

    for _ in range(3):
        gate(RequestFactory().get("/api/v1/pools"))

    assert slept == [0.0, 0.0, 0.0]


def test_a_busy_machine_is_seen_by_whichever_thread_looks(busy):
    clock, _ = busy
    load, seen = MachineLoad(), []

    def look():
        clock[0] += admission.LOOK_SECONDS
        seen.append(load.is_high(clock[0]))

    for _ in range(3):
        thread = Thread(target=look)
        thread.start()
        thread.join()

    assert seen == [True, True, True]


def test_an_idle_machine_is_seen_as_soon(busy, monkeypatch):
    clock, _ = busy
    load = MachineLoad()
    clock[0] += admission.LOOK_SECONDS
    assert load.is_high(clock[0])
    monkeypatch.setattr(
        admission.psutil, "cpu_times", lambda: Times(2 * 101.0, 7.0 + 2 * (clock[0] - 101.0))
    )
    clock[0] += admission.LOOK_SECONDS

    assert not load.is_high(clock[0])


def test_pages_never_rest(busy, monkeypatch):
    monkeypatch.setattr(admission, "sleep", lambda seconds: pytest.fail("a page was made to wait"))

    assert (
        AdmissionMiddleware(lambda one: HttpResponse("page"))(
            RequestFactory().get("/crawls/")
        ).content
        == b"page"
    )


def test_a_stranger_without_a_token_is_not_taken_for_another(two_a_minute, programs):
    assert [programs["viewer"]("GET", "pools")[0] for _ in range(3)] == [200, 200, 429]
    assert Client().get("/api/v1/pools").status_code == 401
