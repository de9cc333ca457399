"""Whatever of a browser is killed, the caller has a verdict within seconds, and nothing is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil
import pytest

from crawling.web.rendering.chromium import chromium_path
from crawling.web.rendering.folders import PREFIX
from crawling.web.rendering.types import DoorAnswer, NoBrowserError, RenderVerdict
from tests.crawling.web.rendering.conftest import ADDRESS, PATIENCE_SECONDS, SiteDoor, page_of
from tests.crawling.web.rendering.parts import is_part

pytestmark = pytest.mark.slow
#: for a verdict, and for the end of all processes
SOON_SECONDS = 5


def tree(browser) -> list[psutil.Process]:
    program = psutil.Process(browser.process_id)
    return [program, *program.children(recursive=True)]


def await_end(processes: list[psutil.Process], seconds: float = SOON_SECONDS) -> list[str]:
    """The processes that are still alive after some time. A zombie has ended."""
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return [str(one) for one in alive if one.status() != psutil.STATUS_ZOMBIE]


def poll(holds, seconds: float = SOON_SECONDS) -> bool:
    """Whether something holds before some time is over; nothing tells when it does."""
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


@pytest.fixture
def folders(monkeypatch):
    """Return a function that gives the folders of browser processes that the test has started."""
    # not that of the test, which the browser's user does not reach
    temporary = Path(tempfile.mkdtemp())
    temporary.chmod(0o711)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    yield lambda: sorted(temporary.glob(f"{PREFIX}*"))
    shutil.rmtree(temporary)


class HeldPage:
    """A page at work, which waits for its door."""

    def __init__(self, browser) -> None:
        self.asked, self.go_on = threading.Event(), threading.Event()
        self._browser = browser
        self._thread = threading.Thread(target=self._render)
        self._thread.start()
        assert self.asked.wait(PATIENCE_SECONDS)

    def _render(self) -> None:
        door = SiteDoor({"/held.js": self._answer})
        self.page = self._browser.render(
            page_of("<p>words<script async src=/held.js></script>"), door
        )
        self.ended_at = time.monotonic()

    def _answer(self, _request):
        self.asked.set()
        self.go_on.wait(PATIENCE_SECONDS)
        return DoorAnswer(200, "", [], b"document.title = 'went on'")

    def result(self):
        self._thread.join(PATIENCE_SECONDS)
        return self.page


@pytest.mark.parametrize("part", ["program", "driver"])
def test_a_killed_program_or_driver_ends_all_and_pages_have_crashed(part, folders, start_browser):
    browser = start_browser()
    held = HeldPage(browser)
    processes = tree(browser)
    killed_at = time.monotonic()

    for process in processes:
        if is_part(process, part):
            process.kill()

    try:
        assert held.result().verdict is RenderVerdict.CRASHED
        assert held.ended_at - killed_at < SOON_SECONDS
        assert poll(lambda: browser.has_ended)
        assert await_end(processes) == []
        page = browser.render(page_of("x"), SiteDoor({}))
        assert page.verdict is RenderVerdict.CRASHED_BESIDE, "it was not open when the program died"
        browser.end()
        assert folders() == []
    finally:
        held.go_on.set()


@pytest.mark.parametrize("part", ["browser", "renderer", "zygote"])
def test_a_killed_browser_is_started_again_for_the_next_page(part, start_browser):
    browser = start_browser()
    held = HeldPage(browser)
    killed_at = time.monotonic()

    for process in tree(browser):
        if is_part(process, part):
            process.kill()

    try:
        assert held.result().verdict is RenderVerdict.CRASHED
        assert held.ended_at - killed_at < SOON_SECONDS
    finally:
        held.go_on.set()
    pages = (browser.render(page_of("<title>next"), SiteDoor({})) for _ in range(2))
    assert "next" in {page.document.title for page in pages}
    assert not browser.has_ended


@pytest.mark.parametrize("part", ["program", "browser"])
def test_of_several_pages_none_is_taken_for_the_cause(part, start_browser):
    browser = start_browser()
    held = [HeldPage(browser), HeldPage(browser)]

    for process in tree(browser):
        if is_part(process, part):
            process.kill()

    try:
        verdicts = {one.result().verdict for one in held}
        assert verdicts == {RenderVerdict.CRASHED_BESIDE}
    finally:
        for one in held:
            one.go_on.set()


def test_a_killed_process_for_graphics_costs_no_page(start_browser):
    browser = start_browser()
    held = HeldPage(browser)

    assert not [one for one in tree(browser) if is_part(one, "utility")]
    for process in tree(browser):
        if is_part(process, "gpu-process"):
            process.kill()
    held.go_on.set()

    assert held.result().document.title == "went on"
    page = browser.render(page_of("<title>next", wants_picture=True), SiteDoor({}))
    assert (page.document.title, page.picture[:2]) == ("next", b"\xff\xd8")


def test_a_stopped_program_is_given_up_after_the_time_of_its_page(start_browser, monkeypatch):
    monkeypatch.setattr("crawling.web.rendering.process.GRACE_SECONDS", 0.5)
    browser = start_browser()
    processes = tree(browser)
    os.kill(browser.process_id, signal.SIGSTOP)

    page = browser.render(page_of("x", limits={"seconds": 1.0}), SiteDoor({}))

    assert page.verdict is RenderVerdict.CRASHED
    assert await_end(processes) == []


CALLER = """
import sys, threading
from crawling.web.rendering.process import BrowserProcess
from crawling.web.rendering.types import PageToRender
browser = BrowserProcess(memory_bytes=512 * 1024 * 1024)
class Door:
    def answer(self, request):
        print(browser.process_id, flush=True)
        threading.Event().wait()
html = b"<script src=/held.js></script>"
headers = [("Content-Type", "text/html")]
browser.render(PageToRender("http://a.example/", 200, headers, html, "x"), Door())
"""


@pytest.mark.usefixtures("needs_browser")
@pytest.mark.parametrize("is_program_killed", [False, True])
def test_nothing_is_left_of_a_killed_caller(is_program_killed, folders, start_browser):
    """If the program is killed at the same moment, the next browser process removes its folder."""
    caller = subprocess.Popen([sys.executable, "-c", CALLER], stdout=subprocess.PIPE, text=True)
    with caller:
        program = psutil.Process(int(caller.stdout.readline()))
        processes = [program, *program.children(recursive=True)]
        caller.kill()
        if is_program_killed:
            program.kill()

    assert await_end(processes) == []
    if is_program_killed:
        start_browser().end()
    assert folders() == []


def test_the_end_of_a_process_ends_pages_and_leaves_nothing(folders, start_browser):
    browser = start_browser()
    held = HeldPage(browser)
    processes = tree(browser)
    shared = set(Path("/dev/shm").glob("*chrom*"))

    browser.end()

    held.go_on.set()
    assert held.result().verdict is RenderVerdict.CRASHED_BESIDE, "the page is not the cause"
    assert await_end(processes) == []
    assert folders() == []
    assert set(Path("/dev/shm").glob("*chrom*")) <= shared


def test_a_browser_is_replaced_after_so_many_pages(start_browser, monkeypatch):
    program = "tests.crawling.web.rendering.program_of_short_life"
    monkeypatch.setattr("crawling.web.rendering.process.PROGRAM", program)
    browser = start_browser()

    titles = [
        browser.render(page_of(f"<title>{n}", context="a"), SiteDoor({})).document.title
        for n in range(5)
    ]

    assert titles == list("01234")
    assert browser.use().browsers_started == 3


def test_no_process_of_a_browser_runs_as_root(start_browser):
    browser = start_browser()
    held = HeldPage(browser)
    try:
        users = {
            process.uids().effective
            for process in tree(browser)
            if any("chromium" in word or "headless_shell" in word for word in process.cmdline()[:1])
        }
        assert 0 not in users
        assert users
    finally:
        held.go_on.set()


def test_a_page_at_work_can_be_looked_at_once_a_second(start_browser):
    browser = start_browser()
    held = HeldPage(browser)
    try:
        (number,) = browser.pages()
        view = browser.view(number)
        assert (view.url, view.picture[:2]) == (ADDRESS, b"\xff\xd8")
        again = browser.view(number)
        assert again.picture is view.picture
        assert again.seconds > view.seconds > 0
    finally:
        held.go_on.set()
    held.result()
    assert browser.pages() == []
    assert browser.view(number) is None


def test_a_page_that_is_being_opened_does_not_wait_for_a_dead_browser(start_browser):
    browser = start_browser()
    (chromium,) = [process for process in tree(browser) if is_part(process, "browser")]
    chromium.suspend()
    titles = []
    render = threading.Thread(
        target=lambda: titles.append(
            browser.render(page_of("<title>x"), SiteDoor({})).document.title
        )
    )

    render.start()
    assert poll(lambda: browser.pages())
    chromium.kill()
    render.join(SOON_SECONDS)

    assert titles == ["x"]


def test_a_browser_that_is_removed_while_at_work_is_named_as_the_reason(start_browser, monkeypatch):
    """The browser goes on until it has to be started again."""
    # pytest's folder is one of root, which the browser's user may not read
    removed = Path(tempfile.mkdtemp()) / "chromium"
    removed.parent.chmod(0o755)
    removed.write_text(f'#!/bin/sh\nexec {chromium_path()} "$@"\n')
    removed.chmod(0o755)
    monkeypatch.setattr("crawling.web.rendering.process.chromium_path", lambda: removed)
    browser = start_browser()
    shutil.rmtree(removed.parent)

    assert browser.render(page_of("x"), SiteDoor({})).verdict is RenderVerdict.RENDERED
    for one in tree(browser):
        if is_part(one, "browser"):
            one.kill()
    assert browser.render(page_of("x"), SiteDoor({})).verdict is RenderVerdict.CRASHED_BESIDE
    assert poll(lambda: browser.has_ended)
    with pytest.raises(NoBrowserError, match="does not start"):
        start_browser()
