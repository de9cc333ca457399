"""A busy shift has a reading process where a core is free, and a crawl is the same without one."""

import math
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from crawling.fetching.shift import reading
from crawling.fetching.shift.reading import ShiftReading
from crawling.machine import cpu_affinity
from crawling.machine.cpu_affinity import CORES, pin_to_one_core
from crawling.models import Page
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource

pytestmark = pytest.mark.skipif(len(CORES) < 2, reason="there is no second core")


@pytest.fixture(autouse=True)
def own_names(monkeypatch):
    """Other tests' shifts take cores meanwhile."""
    monkeypatch.setattr(cpu_affinity, "NAME", f"\0test-{os.getpid()}-core-{{}}")
    monkeypatch.setattr(cpu_affinity, "READING_NAME", f"\0test-{os.getpid()}-reading-{{}}")


@pytest.fixture
def stage(monkeypatch):
    monkeypatch.setattr(reading, "BUSY", -1.0)
    stage = ShiftReading()
    yield stage
    stage.end()


def page():
    return DocumentSource(DocumentStream.of(b"<a href=x>x"), "http://a.example/", "text/html")


def begin(stage):
    """Give a document to the stage's process as soon as that takes one."""
    until = time.monotonic() + 60
    while not (ahead := stage.begin(page(), is_listed=False)):
        assert time.monotonic() < until
        time.sleep(0.01)
    return ahead


def test_a_busy_shift_has_one_and_one_that_waits_has_none(stage, monkeypatch):
    monkeypatch.setattr(reading, "BUSY", 2.0)
    stage.look()
    assert stage.begin(page(), is_listed=False) is None

    monkeypatch.setattr(reading, "BUSY", -1.0)
    with pin_to_one_core():
        stage.look()
        assert begin(stage).document().links


def test_the_next_shift_takes_its_core_from_it(stage):
    with pin_to_one_core() as first:
        stage.look()
        ahead = begin(stage)
        with pin_to_one_core() as second:
            assert second not in {None, first}
            stage.look()
            assert stage.begin(page(), is_listed=False) is None
            ahead.close()


def test_a_shift_takes_a_core_without_one_if_it_can(stage):
    stage.look()
    taken = stage._core.core
    with pin_to_one_core() as core:
        assert core != taken


def test_no_core_is_left_where_each_has_a_shift_or_a_reading_process(stage):
    others = [cpu_affinity.SpareCore.take() for _ in CORES]
    assert all(others)
    stage.look()
    assert stage.begin(page(), is_listed=False) is None

    for other in others:
        other.give_back()
    stage.look()
    assert begin(stage).document()


def test_one_whose_core_others_have_rests(stage):
    stage.look()
    begin(stage).close()
    core = f"import os; os.sched_setaffinity(0, [{stage._core.core}])"
    busy = [subprocess.Popen([sys.executable, "-c", f"{core}\nwhile True: pass"]) for _ in "1234"]
    try:
        stage.look()
        until = time.monotonic() + 60
        while not stage._rests_until:
            assert time.monotonic() < until
            for _ in range(50):
                if ahead := stage.begin(page(), is_listed=False):
                    ahead.close()
            stage.look()
    finally:
        for one in busy:
            one.kill()
            one.wait()

    assert stage.begin(page(), is_listed=False) is None


def test_one_that_is_hardly_used_ends(stage, monkeypatch):
    monkeypatch.setattr(reading, "IDLE_SECONDS", -1.0)
    monkeypatch.setattr(reading, "MOST_LATENESS", math.inf)
    stage.look()
    begin(stage).close()
    stage.look()

    assert stage.begin(page(), is_listed=False) is None
    assert stage._core is None


def test_one_that_dies_is_replaced_a_few_times(stage, caplog):
    for _ in range(reading.MOST_DEATHS):
        stage.look()
        ahead = begin(stage)
        os.kill(stage._process._program.pid, signal.SIGKILL)
        ahead.close()
        while not stage._process.has_ended:
            if further := stage.begin(page(), is_listed=False):
                further.close()
        stage.look()
    stage.look()

    assert stage.begin(page(), is_listed=False) is None
    assert caplog.text.count("has ended too early") == reading.MOST_DEATHS


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_crawl_is_the_same_with_one(crawl_to_the_end, make_site, monkeypatch, is_killed):
    begun, real, site = [], ShiftReading.begin, make_site(pages_of(120))
    plain = facts_of(crawl_to_the_end(f"{site.url}/"))

    def begin_all(stage, source, **told):
        """Begin with every document, and kill the process with some."""
        until = time.monotonic() + 60
        while stage._process and not (ahead := real(stage, source, **told)):
            if stage._process.has_ended or time.monotonic() > until:
                return None
            time.sleep(0.01)
        if stage._process is None:
            return None
        begun.append(source.url)
        if is_killed and len(begun) % 10 == 0:
            os.kill(stage._process._program.pid, signal.SIGKILL)
        return ahead

    monkeypatch.setattr(reading, "BUSY", -1.0)
    monkeypatch.setattr(reading, "MOST_LATENESS", math.inf)
    monkeypatch.setattr(reading, "START_SECONDS", -1.0)
    monkeypatch.setattr(reading, "LOOK_SECONDS", -1.0)
    monkeypatch.setattr(ShiftReading, "begin", begin_all)
    read_elsewhere = facts_of(crawl_to_the_end(f"{site.url}/", name="again"))

    assert len(begun) >= (10 if is_killed else 60)
    assert len(plain) == 121
    assert read_elsewhere == plain


def pages_of(count):
    """A page of links to so many others with words of their own, so that none looks like a trap."""
    chance = random.Random(1)
    names = ["".join(chance.choices("abcdefghij", k=9)) for _ in range(count)]

    def body(name):
        words = " ".join("".join(chance.choices("klmnopqrst", k=6)) for _ in range(60))
        return f"<title>{name}</title><p>{words}" + "".join(
            f"<a href='/{other}'>{other}</a>" for other in chance.choices(names, k=5)
        )

    every = "".join(f"<a href='/{name}'>{name}</a>" for name in names)
    return {"/": every} | {f"/{name}": body(name) for name in names}


def facts_of(run):
    return {
        (page.url.url, page.status, page.title, page.links, page.abstract, page.digest)
        for page in Page.objects.filter(run=run).select_related("url")
    }
