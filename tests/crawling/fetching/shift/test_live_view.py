"""Users see what browsers show, and browsers make pictures only while a user looks."""

from __future__ import annotations

import pytest
from django.core.cache import cache

from crawling.fetching.shift import live_view
from crawling.fetching.shift.live_view import LiveView
from crawling.runs.live_view import (
    LOOKED_SECONDS,
    MOST_BYTES,
    MOST_PAGES,
    SHOWN_SECONDS,
    SIGN,
    VIEWS,
    request_views,
    store_views,
)
from crawling.web.rendering.process import BrowserProcess
from crawling.web.rendering.types import PageView
from tests.crawling.web.rendering.conftest import ADDRESS
from tests.crawling.web.rendering.test_kills import HeldPage
from tests.stack import wait_until

MIB = 1024 * 1024
RUN, SHIFT = 10**9 + 1, 10**9 + 2


class Counts:
    """The times that a work session asked whether a user looks, and asked for a picture."""

    def __init__(self, monkeypatch) -> None:
        self.questions = self.pictures = 0
        is_looked_at, view = live_view.is_watched, BrowserProcess.view

        def asked(run_id):
            self.questions += 1
            return is_looked_at(run_id)

        def pictured(process, number):
            self.pictures += 1
            return view(process, number)

        monkeypatch.setattr(live_view, "LOOK_SECONDS", 0.05)
        monkeypatch.setattr(live_view, "is_watched", asked)
        monkeypatch.setattr(BrowserProcess, "view", pictured)

    def await_questions(self, more=3):
        until = self.questions + more
        wait_until(lambda: self.questions >= until)


@pytest.fixture
def counts(monkeypatch):
    cache.delete(SIGN.format(RUN))
    return Counts(monkeypatch)


@pytest.fixture
def browser(needs_browser, counts):
    process = BrowserProcess(memory_bytes=512 * MIB)
    shown = LiveView(RUN, SHIFT, process)
    yield process
    shown.stop()
    process.end()
    shown.join()


def test_pictures_are_made_while_a_user_looks_and_only_then(browser, counts):
    held = HeldPage(browser)
    try:
        counts.await_questions()
        assert counts.pictures == 0

        wait_until(
            lambda: [view.picture for view in request_views(RUN, [SHIFT])] not in ([], [b""])
        )
        wait_until(lambda: request_views(RUN, [SHIFT])[0].memory_bytes)
        (view,) = request_views(RUN, [SHIFT])
        assert (view.url, view.picture[:2]) == (ADDRESS, b"\xff\xd8")
        assert view.seconds > 0

        cache.delete(SIGN.format(RUN))  # as when its time is over
        counts.await_questions()
        pictures = counts.pictures
        counts.await_questions()
        assert counts.pictures == pictures
    finally:
        held.go_on.set()
    held.result()


def test_the_sign_that_a_user_looks_and_the_pictures_last_for_seconds(counts):
    store_views(SHIFT, [PageView(ADDRESS, 1.0, 0, b"\xff\xd8")])
    request_views(RUN, [SHIFT])
    client = cache._cache.get_client()
    lasts = [client.ttl(cache.make_key(key)) for key in (SIGN.format(RUN), VIEWS.format(SHIFT))]
    assert 0 < lasts[0] <= LOOKED_SECONDS
    assert 0 < lasts[1] <= SHOWN_SECONDS


def test_large_pictures_and_too_many_pages_are_left_out():
    large = PageView(ADDRESS, 1.0, 0, bytes(MOST_BYTES + 1))
    store_views(SHIFT, [large] * (MOST_PAGES + 1))
    assert [view.picture for view in request_views(RUN, [SHIFT])] == [b""] * MOST_PAGES
