"""A page that takes too much ends alone, within its limit, with a verdict of its own; the next page
works.

The pages are those of `tests/webs/rendered/hostile/`. `python -m benchmarks.crawling.hostile_pages`
shows what each takes, and what a page beside it notices.
"""

from __future__ import annotations

import threading
import time

import pytest

from crawling.web.rendering.types import DoorAnswer, RenderVerdict
from tests.crawling.web.rendering.conftest import MIB, PATIENCE_SECONDS, SiteDoor
from tests.webs.rendered.hostile import AFTER, HOSTILE, hostile_answers

pytestmark = pytest.mark.slow

#: for pages that take all of their time, and for those that end before it
SECONDS, MOST_SECONDS = 2.0, 8.0
#: beyond its limit, on a machine with two cores that run other tests
LATE_SECONDS = 4.0
LIMITS = {"memory_bytes": 300 * MIB, "scrolls": 2, "body_bytes": 4 * MIB}
FILES = {
    path: DoorAnswer(status, "", list(headers.items()), body)
    for path, (status, headers, body) in hostile_answers("http://canary.example").items()
}

drill = pytest.mark.drill
V = RenderVerdict
#: they differ by what the machine has time for
SHOWN = {V.RENDERED, V.PARTLY}
BUSY = {*SHOWN, V.TOO_LONG}
#: Chromium ends a page by itself at some limits of its own
ENDED = {V.TOO_MUCH_MEMORY, V.CRASHED}
#: the verdicts, by the page; of cases that one mechanism ends, one runs in each test run
VERDICTS = {
    "alerts": {V.TOO_MANY_DIALOGS},
    "buffers": {V.TOO_MUCH_MEMORY},
    "canvas": ENDED,
    "chain": SHOWN,
    "chatter": {V.TOO_MANY_MESSAGES},
    "console": BUSY,
    "data": BUSY,
    "dom": {V.TOO_MUCH_MEMORY, V.TOO_LONG},
    "downloads": SHOWN,
    "errors": SHOWN,
    "frames": {*BUSY, *ENDED},
    "graphics": BUSY,
    "heap": ENDED,
    "history": BUSY,
    "hoard": {V.TOO_MUCH_MEMORY},
    "inside": SHOWN,
    "large": {V.TOO_LARGE},
    "loop": {V.TOO_LONG},
    "messages": {*BUSY, *ENDED},
    "nested": {*BUSY, *ENDED},
    "permissions": BUSY,
    "popups": {*SHOWN, V.TOO_MANY_WINDOWS},
    "printing": SHOWN,
    "redirects": {V.TOO_MANY_NAVIGATIONS},
    "requests": {V.TOO_MANY_REQUESTS},
    "service": SHOWN,
    "shared": BUSY,
    "sockets": SHOWN,
    "threads": {*BUSY, *ENDED},
    "timers": {V.TOO_LONG},
    "titles": BUSY,
    "unload": SHOWN,
    "unsettled": {V.PARTLY},
    "wasm": {V.TOO_MUCH_MEMORY},
}
LEFT_TO_DRILLS = {
    *("canvas", "data", "dom", "frames", "graphics", "history", "messages", "nested", "popups"),
    *("printing", "service", "shared", "threads", "titles", "wasm", "downloads", "permissions"),
}


def test_each_hostile_page_has_its_verdicts():
    assert VERDICTS.keys() == HOSTILE.keys()


@pytest.fixture
def render_hostile(render):
    """Return a function that renders a hostile page by its name."""

    def render_hostile(name, **named):
        is_endless = V.TOO_LONG in VERDICTS[name] or V.PARTLY in VERDICTS[name]
        limits = LIMITS | {"seconds": SECONDS if is_endless else MOST_SECONDS}
        url = f"http://hostile.example/{name}.html"
        return render(FILES[f"/{name}.html"].body, FILES, limits=limits, url=url, **named)

    return render_hostile


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=drill) if name in LEFT_TO_DRILLS else name for name in VERDICTS],
)
def test_it_ends_alone_within_its_limit_and_the_next_page_works(
    name, render_hostile, render, browser
):
    begun = browser.use()
    began = time.monotonic()

    page = render_hostile(name, context="one")

    assert page.verdict in VERDICTS[name]
    assert time.monotonic() - began < MOST_SECONDS + LATE_SECONDS
    assert len(page.console) <= 100
    assert len(page.routes) <= 50
    if page.verdict in SHOWN:
        assert "A hostile page:" in page.document.text
    after = FILES["/after.html"].body
    assert AFTER in render(after, url="http://hostile.example/", context="one").document.text
    assert browser.use().browsers_started == begun.browsers_started
    assert not browser.has_ended


@pytest.mark.parametrize("name", ["popups", "chain", "sockets"])
def test_windows_and_sockets_are_not_requested(name, render_hostile):
    door = SiteDoor(FILES)

    render_hostile(name, door=door)

    assert door.requests == []


@pytest.mark.parametrize("name", ["buffers", "chatter"])
def test_a_hostile_page_costs_the_pages_beside_it_no_result_and_little_time(
    name, render_hostile, render
):
    """The other page asks its door while the hostile one is at work, and goes on after."""
    verdicts, seconds = [], []

    def beside(while_it_waits):
        def answer(_request):
            while_it_waits()
            return DoorAnswer(200, "", [], b"document.title = 'whole'")

        began = time.monotonic()
        page = render("<script src=/s.js></script>", {"/s.js": answer})
        seconds.append(time.monotonic() - began)
        assert (page.verdict, page.document.title) == (V.RENDERED, "whole")

    beside(lambda: None)
    hostile = threading.Thread(target=lambda: verdicts.append(render_hostile(name).verdict))
    beside(hostile.start)
    hostile.join()
    beside(lambda: verdicts.append(render_hostile(name).verdict))

    assert set(verdicts) <= VERDICTS[name]
    assert seconds[1] < 3 * seconds[0] + 1


def test_a_page_that_leaves_the_browser_no_time_for_others_is_ended(render):
    """The other page waits until the hostile one has ended."""
    verdicts, limits = [], LIMITS | {"seconds": PATIENCE_SECONDS}

    def hostile():
        html = FILES["/titles.html"].body
        verdicts.append(render(html, FILES, limits=limits, url="http://hostile.example/").verdict)

    def answer(_request):
        thread = threading.Thread(target=hostile)
        thread.start()
        thread.join()
        return DoorAnswer(200, "", [], b"document.title = 'whole'")

    html, limits_beside = "<script src=/s.js></script>", {"seconds": 2 * PATIENCE_SECONDS}
    page = render(html, {"/s.js": answer}, limits=limits_beside)

    assert verdicts == [V.BURDENS_OTHERS]
    assert (page.verdict, page.document.title) == (V.RENDERED, "whole")


def test_a_page_that_runs_too_long_is_read_as_far_as_it_came(render_hostile):
    page = render_hostile("loop")

    assert (page.verdict, page.document.text.strip()) == (V.TOO_LONG, "A hostile page: loop.")


def test_a_door_that_does_not_answer_ends_with_the_time_of_the_page(render):
    began = time.monotonic()

    def answer(_request):
        time.sleep(SECONDS + 1)  # as long as a server may take
        return DoorAnswer(200)

    html, limits = "<p>words<script src=/slow></script>", {"seconds": SECONDS}
    page = render(html, {"/slow": answer}, limits=limits)

    assert page.verdict in (V.PARTLY, V.TOO_LONG)
    assert time.monotonic() - began < SECONDS + LATE_SECONDS
