"""A reading process reads as the work process would; whatever becomes of it costs time only."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from struct import Struct

import pytest

from crawling.machine.cpu_affinity import CORES
from crawling.web.content.text_facts import TextFacts
from crawling.web.document_stream import DocumentStream
from crawling.web.documents import html
from crawling.web.documents.base import DocumentSource, ReadingRules
from crawling.web.reading import process as reading_process
from crawling.web.reading.process import MOST_UNREAD, ReadingProcess
from crawling.web.reading.shared_slots import NOT_READ, RESULT, SLOTS

PAGE = "<title>Page {}</title><a href='/{}'>next</a><p>Text of it"


def source_of(body, **rules):
    stream = DocumentStream.of(body.encode())
    return DocumentSource(
        stream, "http://site.example/dir/", "text/html", "utf-8", ReadingRules(**rules)
    )


def page(number=1):
    return source_of(PAGE.format(number, number))


@pytest.fixture
def process():
    process = ReadingProcess(CORES)
    await_first(process)
    yield process
    process.end()


def await_first(process):
    """Wait until the process takes a document."""
    until = time.monotonic() + 60
    while not (ahead := process.begin(page(), is_listed=False)):
        assert time.monotonic() < until
        assert not process.has_ended
        time.sleep(0.01)
    assert ahead.document() == html.read(page())


@pytest.mark.parametrize(
    "source",
    [
        page(),
        source_of("<base href='http://b.example/'><a href=x>x</a><img src=y>", requisites=True),
        source_of("<a rel=nofollow href=x>x</a><b>3</b>", obey_nofollow=True, extract={"n": "b"}),
        source_of("<meta name=mybot content=nofollow><a href=x>x</a>", robots_token="mybot"),
        source_of("<p>" * 20_000),
        source_of("ä" * 100_000),
    ],
    ids=["page", "base", "rules", "robots", "nested", "long"],
)
def test_it_reads_as_the_work_process_does(process, source):
    ahead = process.begin(source, is_listed=False)

    assert ahead.document() == html.read(source)


def test_it_has_a_few_to_read_at_a_time_and_no_more_in_all_than_slots(process):
    os.kill(process._program.pid, signal.SIGSTOP)
    ahead = [process.begin(page(number), is_listed=False) for number in range(MOST_UNREAD)]
    assert process.begin(page(), is_listed=False) is None
    os.kill(process._program.pid, signal.SIGCONT)

    while len(ahead) < SLOTS:
        assert not process.has_ended
        if further := process.begin(page(len(ahead)), is_listed=False):
            ahead.append(further)
    while not ahead[-1].is_read():
        pass
    assert process.begin(page(), is_listed=False) is None

    titles = [one.document().title for one in reversed(ahead)]
    assert titles == [f"Page {number}" for number in reversed(range(SLOTS))]
    assert process.begin(page(), is_listed=False).document()


def test_one_that_nobody_wants_any_more_gives_its_slot_back(process):
    for _ in range(3 * SLOTS):
        process.begin(page(), is_listed=False).close()

    assert process.begin(page(), is_listed=False).document()


def test_it_is_known_without_waiting_whether_one_is_read(process):
    os.kill(process._program.pid, signal.SIGSTOP)
    ahead = process.begin(page(), is_listed=False)
    assert not ahead.is_read()

    os.kill(process._program.pid, signal.SIGCONT)
    until = time.monotonic() + 60
    while not ahead.is_read():
        assert time.monotonic() < until
    assert ahead.document()


def test_what_is_too_large_for_a_slot_is_left_to_the_work_process(process):
    body = "<base href='http://b.example/{}/'>".format("x" * 300)
    body += "".join(f"<a href={number}>" for number in range(3000))
    assert process.begin(source_of("x" * 600_000), is_listed=False) is None

    assert process.begin(source_of(body), is_listed=False).document() is None
    assert process.begin(page(), is_listed=False).document()


def test_documents_of_a_killed_process_are_left_to_the_work_process(process):
    os.kill(process._program.pid, signal.SIGSTOP)
    ahead = [process.begin(page(), is_listed=False) for _ in range(2)]
    os.kill(process._program.pid, signal.SIGKILL)

    assert [one.document() for one in ahead] == [None, None]
    assert process.has_ended
    assert process.begin(page(), is_listed=False) is None


def test_a_process_that_stands_still_is_given_up_in_time(monkeypatch):
    monkeypatch.setattr(reading_process, "TIMEOUT", Struct("@ll").pack(2, 0))
    process = ReadingProcess(CORES)
    try:
        await_first(process)
        os.kill(process._program.pid, signal.SIGSTOP)
        assert process.begin(page(), is_listed=False).document() is None
        assert process.has_ended
    finally:
        process.end()


def answer_for(process):
    """The end of a link by which a test answers in the process's place."""
    process._link.close()
    process._link, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return its_end


@pytest.mark.parametrize(
    "message", [RESULT.pack(99, 1), RESULT.pack(-5, 2**31 - 1), b"?", b""], ids=repr
)
def test_a_process_that_says_nonsense_is_given_up(process, message):
    its_end = answer_for(process)
    ahead = process.begin(page(), is_listed=False)
    with its_end:
        its_end.send(message) if message else its_end.shutdown(socket.SHUT_RDWR)
        assert ahead.document() is None

    assert process.has_ended


@pytest.mark.parametrize("size", [NOT_READ, 0, 7, 2**31 - 1])
def test_nonsense_in_a_slot_is_not_taken_for_a_document(process, size):
    its_end = answer_for(process)
    ahead = process.begin(page(), is_listed=False)
    with its_end:
        its_end.send(RESULT.pack(ahead.slot, size))
        assert ahead.document() is None


def test_it_tells_for_how_long_it_worked_and_waited(process):
    before = process.use()
    for _ in range(20):
        process.begin(page(), is_listed=False).document()

    use = process.use()
    assert use.documents == before.documents + 20
    assert use.worked > before.worked
    assert use.waited >= before.waited


HOLDER = """
import sys, time
from crawling.machine.cpu_affinity import CORES
from crawling.web.reading.process import ReadingProcess
process = ReadingProcess(CORES)
print(process._program.pid, flush=True)
time.sleep(600)
"""


def test_it_ends_with_a_work_process_that_is_killed():
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE)
    pid = int(holder.stdout.readline())
    holder.kill()
    holder.communicate()

    until = time.monotonic() + 60
    while is_alive(pid):
        assert time.monotonic() < until
        time.sleep(0.01)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("is_listed", [False, True])
def test_it_tells_the_facts_of_the_text_too(process, is_listed):
    source = source_of("<title>Some page</title>" + "<p>Words of any kind, page and some." * 40)
    ahead, here = process.begin(source, is_listed=is_listed), html.read(source)
    assert ahead.document() == here

    facts = TextFacts(here.text, source.url, here.title, has_key=True, is_listed=is_listed)
    assert (ahead.facts.abstract, ahead.facts.simhash) == (facts.abstract, facts.simhash)
    assert (ahead.facts.key, ahead.facts.marks) == (facts.key, facts.marks)
    assert bool(facts.marks) == is_listed


def test_one_that_knows_other_protocols_is_not_used(monkeypatch):
    monkeypatch.setattr(reading_process, "mark_of_protocols", lambda: 1)
    process = ReadingProcess(CORES)
    try:
        until = time.monotonic() + 60
        while not process.has_ended:
            assert process.begin(page(), is_listed=False) is None
            assert time.monotonic() < until
    finally:
        process.end()


def test_no_memory_for_a_document_costs_neither_slot_nor_document(process, monkeypatch):
    def lack(*given, **named):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(reading_process, "put_document", lack)
        assert process.begin(page(), is_listed=False) is None
        patch.undo()
        patch.setattr(reading_process, "read_result", lack)
        assert process.begin(page(), is_listed=False).document() is None

    assert len(process._free) == SLOTS
    assert process.begin(page(), is_listed=False).document()


def test_the_shared_memory_cannot_be_made_smaller(process):
    with (
        open(f"/proc/{process._program.pid}/fd/{memory_of(process)}", "rb+") as memory,
        pytest.raises(OSError, match="Operation not permitted"),
    ):
        memory.truncate(0)


def memory_of(process):
    folder = Path(f"/proc/{process._program.pid}/fd")
    return next(link.name for link in folder.iterdir() if "documents" in os.readlink(link))
