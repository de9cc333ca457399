"""Documents that wait to be archived take half of the fetch threads' shares of memory at the
most.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest

from crawling.archive.writer import ArchiveMode, ArchiveWriter
from crawling.frontier import CapturedExchange, ServerAnswer
from crawling.web.document_stream import DocumentStream
from crawling.web.exchanges import Exchange
from tests.crawling.fetching.shift.test_fetch_threads import wait_for

MOST = 1024 * 1024
ANSWER = ServerAnswer(
    status=200, final_url="http://a.test/", content_type="text/plain", bytes=1, fingerprint=0,
    address="192.0.2.1", fetch_seconds=0.1, fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
)  # fmt: skip


@pytest.fixture
def writer(db):
    writer = ArchiveWriter(lambda: None, MOST)
    yield writer
    writer.close()


@pytest.mark.parametrize(("size", "fit"), [(60_000, 17), (400_000, 2), (2 * MOST, 1)])
def test_captures_beyond_the_share_wait_outside(writer, size, fit):
    put = []

    def hand_in():
        for _ in range(5):
            exchange = Exchange(b"", b"", DocumentStream.of(bytes(size)))
            writer.put(CapturedExchange("http://a.test/", 0, 1, exchange), ANSWER)
            put.append(exchange)

    threads = [threading.Thread(target=hand_in) for _ in range(8)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(put) == fit)
    waiting = [thread for thread in threads if thread.is_alive()]
    writer.set_mode(ArchiveMode.DROP)
    for thread in threads:
        thread.join(60)

    assert len(waiting) >= 8 - fit
    assert len(put) == 40
    wait_for(lambda: all(exchange.payload.content.closed for exchange in put))
