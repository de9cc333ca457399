"""Content seen (SEEDS W8): exact, whatever is remembered or forgotten, and whatever fingerprints
collide.
"""

from datetime import UTC, datetime
from hashlib import sha256

import pytest

from crawling.frontier.record import page_rows
from crawling.frontier.record.outcome_writer import RecordingState, record_batch
from crawling.frontier.record.page_rows import KnownContents
from crawling.frontier.types import ServerAnswer
from crawling.models import Page
from tests.crawling.fetching.pipeline.test_crawl_path import links
from tests.crawling.frontiers import Frontier, outcome


def answer(content, fingerprint=7):
    return ServerAnswer(
        status=200,
        final_url="http://a.test/",
        content_type="text/html",
        bytes=len(content),
        fingerprint=fingerprint,
        address="192.0.2.1",
        fetch_seconds=0.1,
        fetched_at=datetime(2026, 1, 1, tzinfo=UTC),
        digest=sha256(content).digest(),
    )


@pytest.fixture
def originals(db):
    """Return a function that records contents, so many a batch, and tells by position which were
    copies of which.
    """

    def recorded(contents, *, batch, memory):
        frontier = Frontier()
        frontier.sow(*(f"a.test/{number}" for number in range(len(contents))))
        urls = frontier.claim()
        for start in range(0, len(urls), batch):
            done = [
                outcome(url, answer=answer(contents[start + n]))
                for n, url in enumerate(urls[start : start + batch])
            ]
            record_batch(frontier.shift, done, numbers=frontier.numbers, memory=memory)
        frontier.check()
        places = {url.id: place for place, url in enumerate(urls)}
        rows = (
            Page.objects.filter(run=frontier.run)
            .order_by("url_id")
            .values_list("duplicate_of", flat=True)
        )
        return [places.get(of) for of in rows]

    return recorded


@pytest.mark.parametrize("capacity", [0, 1, 100])
@pytest.mark.parametrize("batch", [1, 2, 7])
def test_a_copy_points_at_the_first_even_where_all_fingerprints_are_the_same(
    originals, batch, capacity
):
    found = originals(
        [b"a", b"b", b"a", b"c", b"b", b"a", b"a"],
        batch=batch,
        memory=RecordingState(contents=KnownContents(capacity)),
    )

    assert found == [None, None, 0, None, 1, 0, 0]


def test_what_was_met_lately_is_remembered_and_what_was_not_is_forgotten():
    contents = KnownContents(2)
    contents.learn({b"a": 1, b"b": 2})
    assert contents[b"a"] == 1
    contents.learn({b"c": 3})

    assert [contents[digest] for digest in (b"a", b"b", b"c")] == [1, None, 3]


@pytest.mark.parametrize("capacity", [0, 9], ids=["read from the store", "remembered"])
@pytest.mark.parametrize(("skips", "further"), [(False, ["/copy/deeper"]), (True, [])])
def test_a_copy_is_left_unread_if_the_order_says_so(
    make_site, crawl_to_the_end, monkeypatch, capacity, skips, further
):
    monkeypatch.setattr(page_rows, "CAPACITY", capacity)
    same = links("deeper")
    site = make_site({"/": links("/first", "/copy/"), "/first": same, "/copy/": same})

    run = crawl_to_the_end(f"{site.url}/", skip_copies=skips, exact_order=True)

    assert site.paths == ["/", "/first", "/copy/", "/deeper", *further]
    copy = Page.objects.get(run=run, url__url__endswith="/copy/")
    assert copy.duplicate_of == Page.objects.get(run=run, url__url__endswith="/first").url_id
    assert (copy.unread, copy.links) == (("copy", 0) if skips else ("", 1))
