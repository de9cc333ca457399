"""One browser of the machine for all tests of a module; its pages come from a door of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from crawling.web.rendering.process import BrowserProcess
from crawling.web.rendering.types import (
    DoorAnswer,
    DoorRefusal,
    DoorRequest,
    PageToRender,
    Rendered,
    RenderLimits,
)

MIB = 1024 * 1024
ADDRESS = "http://site.example/page"
HTML = [("Content-Type", "text/html; charset=utf-8")]
TYPES = {"js": "text/javascript", "css": "text/css", "html": "text/html"}
#: what a test waits for without being told of it
PATIENCE_SECONDS = 30


@dataclass
class SiteDoor:
    """Answers with files by path, or with what a function of the request returns; notes all that a
    page asked for.
    """

    files: dict[str, str | bytes | DoorAnswer | Callable[[DoorRequest], DoorAnswer]]
    requests: list[DoorRequest] = field(default_factory=list)

    def answer(self, request: DoorRequest) -> DoorAnswer:
        self.requests.append(request)
        path = "/" + request.url.split("/", 3)[-1].split("?")[0]
        file = self.files.get(path)
        if file is None:
            return DoorAnswer(404, "Not Found", HTML, b"none")
        if callable(file):
            return file(request)
        if isinstance(file, DoorAnswer):
            return file
        body = file.encode() if isinstance(file, str) else file
        kind = TYPES.get(path.rpartition(".")[2], "text/plain")
        return DoorAnswer(200, "OK", [("Content-Type", kind)], body)

    @property
    def paths(self) -> list[str]:
        return sorted("/" + request.url.split("/", 3)[-1] for request in self.requests)


REFUSED = DoorAnswer(refusal=DoorRefusal.BY_ROBOTS)


def page_of(html: str | bytes, *, limits: dict | None = None, **named) -> PageToRender:
    body = html.encode() if isinstance(html, str) else html
    return PageToRender(
        **{"url": ADDRESS, "status": 200, "headers": HTML, "user_agent": "crawlsite/1 (+about)"}
        | named,
        body=body,
        limits=RenderLimits(**{"seconds": 20.0} | (limits or {})),
    )


@pytest.fixture
def start_browser(needs_browser) -> Iterator[Callable[..., BrowserProcess]]:
    """Return a function that starts a browser process."""
    started = []

    def start(**named) -> BrowserProcess:
        started.append(BrowserProcess(**{"memory_bytes": 512 * MIB} | named))
        return started[-1]

    yield start
    for browser in started:
        browser.end()


@pytest.fixture(scope="module")
def browser(needs_browser) -> Iterator[BrowserProcess]:
    browser = BrowserProcess(memory_bytes=512 * MIB)
    yield browser
    browser.end()


@pytest.fixture
def render(browser) -> Callable[..., Rendered]:
    """Return a function that renders HTML, with a door of files."""

    def render(html: str | bytes, files: dict | None = None, **named) -> Rendered:
        door = named.pop("door", None) or SiteDoor(files or {})
        return browser.render(page_of(html, **named), door)

    return render
