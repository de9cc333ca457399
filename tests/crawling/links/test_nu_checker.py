"""The Nu HTML checker names errors with their lines, and one bad document costs itself alone.

Tests that run it need Java and `STATE_DIR=.local/test make nu-checker`; `make test` installs the
checker where Java is.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import psutil
import pytest
from django.conf import settings as project

from crawling.links import nu_checker
from crawling.links.nu_checker import MOST_BYTES, check_documents, why_unavailable
from crawling.links.nu_checker_run import (
    MOST_MESSAGES,
    MOST_OUTPUT,
    MOST_TEXT,
    BrokenAnswer,
    NuMessage,
    RunResult,
    read_output,
)
from crawling.process import work_folders
from tests.crawlsite.programs import PROJECT

MISSING = why_unavailable()
needs_checker = pytest.mark.skipif(bool(MISSING), reason=MISSING or "it is there")
START = b'<!DOCTYPE html><html lang="en"><title>x</title>'
#: its attributes take more than all the time that a document may have
SLOW = START + b"<p " + b" ".join(b"a%d" % number for number in range(120_000)) + b">"
GOOD = START + b"<p>x</p>"


@pytest.fixture
def programs(tmp_path, monkeypatch, settings) -> Path:
    """A machine that has the programs of this directory."""
    monkeypatch.setenv("PATH", str(tmp_path))
    settings.STATE_DIR = tmp_path
    return tmp_path


def java_of(programs: Path, version: str) -> None:
    path = programs / "java"
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    path.chmod(0o755)
    nu_checker._java_version.cache_clear()


def test_what_is_missing_is_told_with_its_remedy(programs):
    assert "default-jre-headless" in why_unavailable()
    java_of(programs, "1.8.0_392")
    assert why_unavailable() == "Java 1 is too old: install version 17 or later."
    java_of(programs, "21.0.8")
    assert "make nu-checker" in why_unavailable()
    nu_checker.CHECKER.folder(programs).mkdir(parents=True)
    assert why_unavailable() == ""


def told(*said: dict[str, object]) -> bytes:
    return json.dumps({"version": "1", "messages": said}, separators=(",", ":")).encode()


def message(file: int, text: str, **more: object) -> dict[str, object]:
    return {"type": "error", "url": f"file:/x/{file}.html", "message": text, **more}


def read(output: bytes, files: int, piece: int = 7) -> RunResult:
    result = RunResult([[] for _ in range(files)])
    pieces = (output[place : place + piece] for place in range(0, len(output), piece))
    read_output(pieces, {f"{number}.html": number for number in range(files)}, result)
    return result


def test_errors_and_warnings_are_kept_with_the_line_where_their_place_ends():
    output = told(
        message(1, " Ün\0closed\n element", lastLine=9, firstLine=7),
        message(1, "remark", type="info"),
        message(1, "advice", type="info", subType="warning", lastLine=3),
        message(2, "x" * 900, type="non-document-error", subType="io"),
    )

    result = read(output, files=4)

    assert (result.checked, result.is_cut) == (4, False)
    assert result.messages == [
        [],
        [NuMessage("error", "Ünclosed element", 9), NuMessage("warning", "advice", 3)],
        [NuMessage("error", "x" * MOST_TEXT, 0)],
        [],
    ]


def test_different_messages_of_a_document_are_bounded_and_equal_ones_are_not():
    texts = [f"text {number % (MOST_MESSAGES + 50)}" for number in range(2 * MOST_MESSAGES + 100)]

    result = read(told(*(message(0, text) for text in texts), message(1, "other")), 2, piece=9999)

    first, second = result.messages
    assert len({it.text for it in first}) == MOST_MESSAGES
    assert len(first) == 2 * MOST_MESSAGES
    assert [it.text for it in second] == ["other"]


def test_reading_ends_behind_the_document_of_which_very_much_is_said():
    flood = [message(1, "same", extract="x" * 1000)] * (MOST_OUTPUT // 1000)

    result = read(told(message(0, "one"), *flood, message(2, "never read")), 3, piece=65536)

    assert (result.checked, result.is_cut) == (2, True)
    assert result.messages[0] == [NuMessage("error", "one", 0)]
    assert set(result.messages[1]) == {NuMessage("error", "same", 0)}
    assert result.messages[2] == []


@pytest.mark.parametrize(
    ("output", "checked"),
    [
        (told(message(0, "one"), message(2, "two"))[:-2], 2),
        (b"StackOverflowError while evaluating HTML schema.", 0),
        (told({"type": "error", "message": "of no file"}), 0),
        (told(message(7, "of another file")), 0),
    ],
)
def test_output_that_ends_early_says_what_was_checked_before(output, checked):
    result = RunResult([[], [], []])
    with pytest.raises(BrokenAnswer):
        read_output([output], {f"{number}.html": number for number in range(3)}, result)
    assert result.checked == checked


@pytest.fixture
def requests() -> Iterator[tuple[int, list[str]]]:
    """A server on loopback, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, asked
    server.shutdown()
    server.server_close()


@needs_checker
def test_documents_have_their_messages_in_order_and_nothing_is_fetched(
    requests, tmp_path, monkeypatch
):
    # other tests have theirs where the installation has them
    monkeypatch.setattr(work_folders, "_place", lambda: tmp_path / "jobs-at-work")
    port, asked = requests
    at = f"http://127.0.0.1:{port}"
    (tmp_path / "secret.css").write_text("p { secretword: 1 }")
    reaching = f"""<!DOCTYPE html SYSTEM "{at}/dtd" [<!ENTITY e SYSTEM "{at}/e">]>
<html lang="en"><base href="{at}/base/"><title>&e;</title><link rel=stylesheet href={at}/l.css>
<style>@import url("{at}/i.css"); @import url("{tmp_path.as_uri()}/secret.css");</style>
<script src="{at}/s.js"></script><img src="{at}/i.png"><iframe src="{at}/f"></iframe>"""
    broken = START + b"\n<p><b>x</p>\n<table><b>\x1b</table>\n<img src=a>"
    no_language = b"<!DOCTYPE html>\n<html><title>x</title>"

    found = check_documents(
        [GOOD, broken, bytes(MOST_BYTES + 1), reaching.encode(), b"", no_language]
    )

    assert found[0] == []
    assert found[2] is None
    assert NuMessage("error", "Unclosed element “b”.", 2) in (found[1] or [])
    assert any(it.line == 3 and "table" in it.text for it in found[1] or [])
    assert any(it.line == 4 and "“alt”" in it.text for it in found[1] or [])  # not ended by it
    assert [it.kind for it in found[5] or []] == ["warning"]
    assert found[4]
    assert found[4][0].line == 0
    assert found[3]
    assert "secretword" not in str(found[3])
    assert asked == []
    assert not list((tmp_path / "jobs-at-work").iterdir())


@needs_checker
@pytest.mark.drill
def test_a_document_that_takes_too_long_costs_itself_alone(monkeypatch):
    monkeypatch.setattr(nu_checker, "START_SECONDS", 4)
    monkeypatch.setattr(nu_checker, "CLOCK_SECONDS", 100)
    table = (START + b"<b><table>" * 100_000)[:MOST_BYTES]

    found = check_documents([GOOD, table, GOOD, SLOW, GOOD, START + b"<p class='" + b"x" * 10**6])

    assert [it is None for it in found] == [False, False, False, True, False, False]
    assert found[0] == found[2] == found[4] == []
    assert found[1]
    assert [it.text for it in found[5] or []] == [
        "End of file reached when inside an attribute value. Ignoring tag."
    ]


@needs_checker
@pytest.mark.drill
def test_the_time_of_all_runs_is_bounded(monkeypatch):
    monkeypatch.setattr(nu_checker, "CLOCK_SECONDS", 0.005)  # less than Java takes to start
    began = time.monotonic()

    assert check_documents([GOOD] * 10) == [None] * 10

    assert time.monotonic() - began < 10


CHECKS = """
import django
django.setup()
from crawling.links.nu_checker import check_documents
from tests.crawling.links.test_nu_checker import SLOW
check_documents([SLOW])
"""


@needs_checker
@pytest.mark.drill
def test_it_ends_with_the_job_that_started_it():
    env = {**os.environ, "STATE_DIR": str(project.STATE_DIR)}
    with subprocess.Popen([sys.executable, "-c", CHECKS], cwd=PROJECT, env=env) as job:
        until = time.monotonic() + 60
        while not (found := [it for it in children(job.pid) if it.name() == "java"]):
            assert time.monotonic() < until
            time.sleep(0.05)  # nothing tells a test that a grandchild has become Java
        job.send_signal(signal.SIGKILL)
    gone, _ = psutil.wait_procs(found, timeout=20)
    assert gone or found[0].status() == psutil.STATUS_ZOMBIE


def children(pid: int) -> list[psutil.Process]:
    return psutil.Process(pid).children()
