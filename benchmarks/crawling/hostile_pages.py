"""Hostile pages in the product's browser, each beside pages that do no harm. `python -m
benchmarks.crawling.hostile_pages [NAME ...] [--seconds 4 --memory 300]`

Beside a hostile page, a page of a framework is rendered again and again. Its longest time and that
of the same page alone say what it notices. In the rows `killed ...` a process is killed meanwhile.
"""

from __future__ import annotations

import statistics
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic

import psutil

from benchmarks.report import Table, options
from benchmarks.timer import MIB
from crawling.web.rendering.process import BrowserProcess
from crawling.web.rendering.types import (
    DoorAnswer,
    DoorRequest,
    PageToRender,
    RenderLimits,
)
from tests.servers import Reply
from tests.webs.rendered.expected import SITES
from tests.webs.rendered.hostile import HOSTILE, hostile_answers
from tests.webs.rendered.serving import answers_of

HTML = [("Content-Type", "text/html; charset=utf-8")]
HOST = "http://hostile.example"
#: the page beside the hostile ones, and how often it is rendered alone
BESIDE, ALONE = "react", 5
#: by the name of a row: the kind of process that is killed, while this page is at work
KILLED = {"killed renderer": "renderer", "killed GPU process": "gpu-process"}
AT_WORK, KILL_SECONDS = "unsettled", 1.0


@dataclass
class FilesDoor:
    """Answers with files by path."""

    files: Mapping[str, Reply]

    def answer(self, request: DoorRequest) -> DoorAnswer:
        path = "/" + request.url.split("/", 3)[3].partition("?")[0]
        status, headers, body = self.files.get(path, (404, {}, b""))
        return DoorAnswer(status, "", list(headers.items()), as_bytes(body))

    def page(self, url: str, limits: RenderLimits) -> PageToRender:
        _, host, path = url.rsplit("/", 2)
        body = as_bytes(self.files[f"/{path}"][2])
        return PageToRender(url, 200, HTML, body, "a benchmark", limits, context=host)


def as_bytes(body: bytes | str) -> bytes:
    return body.encode() if isinstance(body, str) else body


@dataclass
class Neighbour:
    """Renders a page that does no harm, again and again, while the block runs."""

    browser: BrowserProcess
    seconds: list[float] = field(default_factory=list)
    failed: int = 0

    def __enter__(self) -> Neighbour:
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._render_all)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _render_all(self) -> None:
        while not self._is_over.is_set() or not self.seconds:
            self.render()

    def render(self) -> None:
        door = FilesDoor(answers_of(SITES[BESIDE]))
        began = monotonic()
        page = self.browser.render(door.page("http://beside.example/", RenderLimits()), door)
        self.seconds.append(monotonic() - began)
        self.failed += "birds, listed by" not in page.document.text


def alone(browser: BrowserProcess) -> float:
    """The usual seconds of the page that does no harm."""
    neighbour = Neighbour(browser)
    for _ in range(ALONE):
        neighbour.render()
    return statistics.median(neighbour.seconds)


def processes(browser: BrowserProcess, kind: str) -> set[psutil.Process]:
    every = psutil.Process(browser.process_id).children(recursive=True)
    return {process for process in every if f"--type={kind}" in process.cmdline()}


def kill_later(browser: BrowserProcess, kind: str) -> None:
    """Kill the processes of a kind that the page at work has, and not those of pages before it."""
    before = processes(browser, kind) if kind == "renderer" else set()

    def kill() -> None:
        for process in processes(browser, kind) - before:
            process.kill()

    threading.Timer(KILL_SECONDS, kill).start()


def main() -> None:
    chosen = options(__doc__, "names", seconds=4.0, memory=300)
    limits = RenderLimits(seconds=chosen.seconds, memory_bytes=chosen.memory * MIB, scrolls=2)
    browser = BrowserProcess(memory_bytes=limits.memory_bytes)
    try:
        usual = alone(browser)
        print(f"{browser.facts.version}; the page beside: {usual:.2f} s alone")
        table = Table("seconds", "MiB", "beside", "failed", "restarts", "verdict", "case")
        for name in chosen.names or (*HOSTILE, *KILLED):
            show(table, name, browser, limits)
    finally:
        browser.end()


def show(table: Table, name: str, browser: BrowserProcess, limits: RenderLimits) -> None:
    door = FilesDoor(hostile_answers("http://canary.example"))
    started = browser.use().browsers_started
    with Neighbour(browser) as beside:
        if name in KILLED:
            kill_later(browser, KILLED[name])
        file = AT_WORK if name in KILLED else name
        began = monotonic()
        page = browser.render(door.page(f"{HOST}/{file}.html", limits), door)
        seconds = monotonic() - began
    restarts = browser.use().browsers_started - started
    memory = round(page.counts.memory_bytes / MIB)
    most = max(beside.seconds)
    table.row(seconds, memory, most, beside.failed, restarts, page.verdict.value, name)


if __name__ == "__main__":
    main()
