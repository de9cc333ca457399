"""A page that takes too much ends alone, within its limit, with a verdict of its own; the next page
works.
"""

from __future__ import annotations

import time

import pytest

from crawling.web.rendering.types import DoorAnswer, RenderVerdict
from tests.crawling.web.rendering.conftest import HTML, MIB, SiteDoor

pytestmark = pytest.mark.slow

SECONDS = 4.0
#: beyond its limit, on a machine with two cores that run other tests
LATE_SECONDS = 4.0
LIMITS = {"seconds": SECONDS, "memory_bytes": 300 * MIB, "scrolls": 2, "body_bytes": 4 * MIB}

HOSTILE = {
    "endless alerts": ("<script>while (true) alert(1)</script>", RenderVerdict.TOO_MANY_DIALOGS),
    "endless loop": ("<p>text<script>while (true);</script>", RenderVerdict.TOO_LONG),
    "timers that never let go": (
        "<script>setInterval(() => { while (true); }, 1)</script>",
        RenderVerdict.TOO_LONG,
    ),
    "objects": (
        "<script>const a = []; while (true) a.push(Array(1e5).fill(Math.random()))</script>",
        RenderVerdict.TOO_MUCH_MEMORY,
    ),
    "buffers": (
        "<script>const a = []; while (true) a.push(new Uint8Array(1e7).fill(1))</script>",
        RenderVerdict.TOO_MUCH_MEMORY,
    ),
    "WebAssembly": (
        """<script>const a = []; while (true) {
        const m = new WebAssembly.Memory({initial: 200});
        new Uint8Array(m.buffer).fill(1); a.push(m) }</script>""",
        RenderVerdict.TOO_MUCH_MEMORY,
    ),
    "canvas": (
        """<script>const a = []; while (true) {
        const c = document.createElement('canvas'); c.width = c.height = 2000;
        const x = c.getContext('2d'); x.fillRect(0, 0, 2000, 2000);
        a.push(c, x.getImageData(0, 0, 2000, 2000)) }</script>""",
        RenderVerdict.TOO_MUCH_MEMORY,
    ),
    "elements": (
        """<body><script>const html = ('<p>' + 'x'.repeat(500)).repeat(1e4);
        while (true) document.body.insertAdjacentHTML('beforeend', html)</script>""",
        RenderVerdict.TOO_MUCH_MEMORY,
    ),
    "memory of a worker": (
        """<script>new Worker(URL.createObjectURL(new Blob(
        ['const a = []; while (true) a.push(new Uint8Array(1e7).fill(1))'])));
        setInterval(() => document.title += 'x', 20)</script>""",
        RenderVerdict.TOO_MUCH_MEMORY,
    ),
    "redirects by script": (
        "<script>location = '/again?' + Math.random()</script>",
        RenderVerdict.TOO_MANY_NAVIGATIONS,
    ),
    "a page that never settles": (
        "<body><script>setInterval(() => document.body.append('x'), 20)</script>",
        RenderVerdict.PARTLY,
    ),
    "10,000 requests": (
        "<script>for (let i = 0; i < 10000; i++) fetch('/' + i)</script>",
        RenderVerdict.TOO_MANY_REQUESTS,
    ),
    "large files": (
        "<script>for (let i = 0; i < 20; i++) fetch('/large?' + i)</script>",
        RenderVerdict.TOO_LARGE,
    ),
}
BOUNDED = {
    "windows": """<body><script>setInterval(() => {
        for (let i = 0; i < 20; i++) {
          open('/window'); const a = document.createElement('a');
          a.href = '/window'; a.target = '_blank'; a.click() }}, 5)</script>""",
    "downloads": """<script>setInterval(() => {
        const a = document.createElement('a'); a.download = 'x';
        a.href = URL.createObjectURL(new Blob(['x'])); a.click() }, 5)</script>""",
    "history": "<script>for (let i = 0; i < 1e5; i++) history.pushState({}, '', '/' + i)</script>",
    "console": "<script>for (let i = 0; i < 1e6; i++) console.log(i)</script>",
    "errors": "<script>for (let i = 0; i < 1e4; i++) Promise.reject(new Error(i))</script>",
    "sockets": "<script>for (let i = 0; i < 1000; i++) new WebSocket('ws://x.example')</script>",
    "leaving": """<script>addEventListener('beforeunload', (e) => e.preventDefault());
        addEventListener('pagehide', () => { while (true); })</script>""",
    "printing": "<script>for (let i = 0; i < 100; i++) print()</script>",
}
FILES = {
    "/large": b"x" * MIB,
    "/again": DoorAnswer(200, "", HTML, b"<script>location = '/again?' + Math.random()</script>"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_it_ends_alone_within_its_limit_and_the_next_page_works(name, render, browser):
    html, verdict = HOSTILE[name]
    begun = browser.use()
    began = time.monotonic()

    page = render(html, FILES, limits=LIMITS)

    assert page.verdict is verdict
    assert time.monotonic() - began < SECONDS + LATE_SECONDS
    assert render("<title>next</title>").document.title == "next"
    assert browser.use().browsers_started == begun.browsers_started
    assert not browser.has_ended


@pytest.mark.parametrize("name", BOUNDED)
def test_what_is_bounded_leaves_the_page_readable(name, render):
    door = SiteDoor({})
    page = render(f"<p>words</p>{BOUNDED[name]}", door=door, limits=LIMITS, context="one")

    assert page.verdict in (RenderVerdict.RENDERED, RenderVerdict.PARTLY)
    assert page.document.text.startswith("words")
    assert len(page.console) <= 100
    assert len(page.routes) <= 50
    assert door.requests == []
    assert render("<title>next</title>", context="one").document.title == "next"


def test_a_page_over_its_memory_leaves_the_pages_beside_it_alone(render):
    """The other page asks its door while the first is ended, and goes on after."""
    over = []

    def answer(_request):
        bomb = HOSTILE["buffers"][0]
        over.append(render(bomb, limits=LIMITS, url="http://bomb.example/").verdict)
        return DoorAnswer(200, "", [], b"document.title = 'whole'")

    page = render("<script src=/s.js></script>", {"/s.js": answer})

    assert over == [RenderVerdict.TOO_MUCH_MEMORY]
    assert (page.verdict, page.document.title) == (RenderVerdict.RENDERED, "whole")


def test_a_page_that_runs_too_long_is_read_as_far_as_it_came(render):
    page = render("<p>words<script>while (true);</script>", limits=LIMITS)

    assert (page.verdict, page.document.text.strip()) == (RenderVerdict.TOO_LONG, "words")


def test_a_door_that_does_not_answer_ends_with_the_time_of_the_page(render):
    began = time.monotonic()

    def answer(_request):
        time.sleep(SECONDS + 1)  # as long as a server may take
        return DoorAnswer(200)

    page = render("<p>words<script src=/slow></script>", {"/slow": answer}, limits=LIMITS)

    assert page.verdict in (RenderVerdict.PARTLY, RenderVerdict.TOO_LONG)
    assert time.monotonic() - began < SECONDS + LATE_SECONDS
