"""A shift's browser: a page that ended it is not rendered again, and pages beside it are."""

from __future__ import annotations

import threading

import pytest

from crawling.fetching.shift import browser as shift_browser
from crawling.fetching.shift.browser import ShiftBrowser
from crawling.web.rendering.types import PageToRender, Rendered, RenderVerdict


class DyingBrowser:
    """A browser process that ends once it has all of its pages.

    pages: the titles of the pages in all such processes, in order.
    """

    pages: list[str] = []
    dies_at = 0

    def __init__(self, **_limits: object) -> None:
        self.has_ended = False

    def render(self, page: PageToRender, _door: object) -> Rendered:
        self.pages.append(page.url)
        if len(self.pages) > self.dies_at:
            return Rendered(RenderVerdict.RENDERED)
        together.wait(30)
        self.has_ended = True
        is_alone = self.dies_at == 1
        return Rendered(RenderVerdict.CRASHED if is_alone else RenderVerdict.CRASHED_BESIDE)

    def end(self) -> None:
        self.has_ended = True


together = threading.Barrier(1)


@pytest.fixture
def rendered(monkeypatch):
    """Return a function that renders pages at once in a browser that dies of them, and gives the
    verdict of each.
    """

    def rendered(*urls: str) -> dict[str, RenderVerdict]:
        monkeypatch.setattr(DyingBrowser, "pages", [])
        monkeypatch.setattr(DyingBrowser, "dies_at", len(urls))
        monkeypatch.setitem(globals(), "together", threading.Barrier(len(urls)))
        monkeypatch.setattr(shift_browser, "BrowserProcess", DyingBrowser)
        browser, found = ShiftBrowser(0, 1), {}

        def render(url: str) -> None:
            found[url] = browser.render(PageToRender(url, 200, [], b"", ""), None).verdict

        threads = [threading.Thread(target=render, args=(url,)) for url in urls]
        [thread.start() for thread in threads]
        while any(thread.is_alive() for thread in threads):
            browser.tend(512)
            threads[0].join(0.01)
        browser.end()
        return found

    return rendered


def test_a_page_that_ended_the_browser_alone_is_not_rendered_again(rendered):
    assert rendered("a") == {"a": RenderVerdict.CRASHED}
    assert DyingBrowser.pages == ["a"]


def test_pages_of_which_one_ended_the_browser_are_rendered_once_more(rendered):
    assert rendered("a", "b") == dict.fromkeys("ab", RenderVerdict.RENDERED)
    assert sorted(DyingBrowser.pages) == ["a", "a", "b", "b"]
