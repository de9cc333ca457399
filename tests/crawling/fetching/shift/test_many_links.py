"""Pages of very many links cost time: the run is locked for parts of them, the server never waits
for long within a transaction, and a connection that breaks loses and repeats nothing.
"""

from __future__ import annotations

import time

import pytest
from django.db import OperationalError, connection, connections
from django.utils import timezone

from crawling.frontier import CapturedExchange, RecordingState, ServerAnswer, record_all, run_lock
from crawling.frontier.admit import schedule
from crawling.frontier.record import link_admission, outcome_writer
from crawling.frontier.record.link_admission import split_by_links
from crawling.frontier.types import ArchiveLocation
from crawling.models import ArchiveFile, Page, Shift
from crawling.web.document_stream import DocumentStream
from crawling.web.exchanges import Exchange
from tests.crawling.frontiers import Frontier, candidates, outcome

EXCHANGE = Exchange(b"", b"", DocumentStream.of(b""))


def page(url, links, place=None):
    """A page with so many links of its own."""
    found = candidates(*(f"a.test/{url.id}/{n}" for n in range(links)), depth=1, via=url.id)
    captured = place and CapturedExchange(url.url, 0, 1, EXCHANGE, place=place)
    answer = ServerAnswer(200, url.url, "text/html", 1, url.id, "192.0.2.1", 0.1, timezone.now())
    return outcome(url, links=found, answer=answer, captured=captured)


def place(file, offset):
    return ArchiveLocation(file, offset, 10, b"", is_revisit=False)


def write(frontier, outcomes, lengths=None):
    return record_all(
        frontier.shift, outcomes, numbers=[0], memory=RecordingState(), lengths=lengths or {}
    )


def claimed(frontier, count):
    frontier.sow(*(f"a.test/{n}" for n in range(count)))
    return frontier.claim()


@pytest.mark.parametrize(
    ("pages", "parts"),
    [
        ([], [([], {1: 90, 2: 40})]),
        ([(1, 0, 10)], [([0], {1: 90, 2: 40})]),
        ([(1, 0, 5), (1, 30, 5)], [([0, 1], {1: 90, 2: 40})]),
        # the second begins where the first part ends
        ([(1, 0, 6), (1, 30, 5)], [([0], {1: 30}), ([1], {1: 90, 2: 40})]),
        ([(1, 0, 99), (1, 30, 99)], [([0], {1: 30}), ([1], {1: 90, 2: 40})]),
        # they come in the order of the files, whatever theirs is
        ([(1, 30, 6), (1, 0, 5)], [([1], {1: 30}), ([0], {1: 90, 2: 40})]),
        ([(2, 20, 9), (1, 0, 9)], [([1], {1: 90, 2: 20}), ([0], {1: 90, 2: 40})]),
        # what has no document waits for none
        ([(1, 0, 6), (0, 0, 5)], [([1], {1: 0}), ([0], {1: 90, 2: 40})]),
        ([(0, 0, 6), (0, 0, 5)], [([0], {}), ([1], {1: 90, 2: 40})]),
    ],
)
def test_a_part_of_a_batch_commits_of_each_file_what_its_pages_have(monkeypatch, pages, parts):
    monkeypatch.setattr(link_admission, "MOST_LINKS", 10)

    class Claimed:
        url = "http://a.test/"

        def __init__(self, number):
            self.id = number

    batch = [
        page(Claimed(number), links, place(file, offset) if file else None)
        for number, (file, offset, links) in enumerate(pages)
    ]

    found = [
        ([one.url_id for one in part], dict(lengths))
        for part, lengths in split_by_links(batch, {1: 90, 2: 40})
    ]

    assert found == parts


def test_pages_with_very_many_links_are_recorded_in_parts_that_each_are_whole(db, monkeypatch):
    monkeypatch.setattr(link_admission, "MOST_LINKS", 100)
    frontier = Frontier()
    file = ArchiveFile.objects.create(
        run=frontier.run, name="run1-here-0-00000.warc.gz", machine="here", slot=0
    )
    urls = claimed(frontier, 5)
    seen = []

    def look(execute, sql, params, many, context):
        if "FOR NO KEY UPDATE" in sql:
            file.refresh_from_db()
            ends = [page.archive_offset + page.archive_length for page in Page.objects.all()]
            seen.append((len(ends), file.committed_length, max(ends, default=0)))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(look):
        settled = write(
            frontier,
            [page(url, 60, place(file.pk, 10 * n)) for n, url in enumerate(urls)],
            {file.pk: 55},
        )

    assert seen == [(n, 10 * n, 10 * n) for n in range(5)]
    file.refresh_from_db()
    assert (file.committed_length, len(settled)) == (55, 5)
    assert frontier.states() == {"s": 5, "q": 300}
    frontier.check()


def new_urls_by_transaction():
    """How many URLs each transaction inserts that takes the run's lock."""
    inserted = []

    def look(execute, sql, params, many, context):
        if "FOR NO KEY UPDATE" in sql:
            inserted.append(0)
        if "INSERT INTO crawling_url (" in sql:
            inserted[-1] += len(params["new.url"])
        return execute(sql, params, many, context)

    return inserted, connection.execute_wrapper(look)


@pytest.mark.parametrize("order", ["breadth_first", "best_first", "focused", "opic"])
def test_the_links_of_one_page_are_admitted_in_parts_before_it_is_recorded(db, monkeypatch, order):
    monkeypatch.setattr(link_admission, "MOST_LINKS", 20)
    frontier = Frontier(order=order)
    first, second = claimed(frontier, 2)
    inserted, looking = new_urls_by_transaction()

    with looking:
        settled = write(frontier, [page(first, 50), page(second, 5)])

    # OPIC shares what a page has among all its links at once
    assert inserted == ([0, 50, 5] if order == "opic" else [20, 20, 10, 5])
    assert set(settled) == {first.id, second.id}
    assert frontier.states() == {"s": 2, "q": 55}
    assert frontier.counts()["discovered"] == 57
    assert [*frontier.run.urls.filter(state="q").values_list("backlinks", flat=True)] == [1] * 55
    frontier.check()


def test_a_page_that_is_fetched_again_after_its_first_links_counts_once(db, monkeypatch):
    monkeypatch.setattr(link_admission, "MOST_LINKS", 20)
    frontier = Frontier()
    [url] = claimed(frontier, 1)
    killed = page(url, 50)
    monkeypatch.setattr(outcome_writer, "record_batch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(frontier, [killed])
    monkeypatch.undo()
    assert frontier.states() == {"p": 1, "q": 40}

    settled = write(frontier, [page(url, 50)])

    assert set(settled) == {url.id}
    assert frontier.states() == {"s": 1, "q": 50}
    assert frontier.counts()["discovered"] == 51
    frontier.check()


def interrupted(*args, **options):
    raise KeyboardInterrupt


def test_links_of_a_page_that_another_shift_has_by_now_are_not_admitted(db, monkeypatch):
    monkeypatch.setattr(link_admission, "MOST_LINKS", 20)
    frontier = Frontier()
    [url] = claimed(frontier, 1)
    frontier.give_back()

    assert not write(frontier, [page(url, 50)])
    assert frontier.states() == {"q": 1}
    frontier.check()


@pytest.mark.parametrize("order", ["breadth_first", "best_first", "opic"])
def test_no_statement_has_rows_of_more_links_than_are_made_in_a_moment(db, monkeypatch, order):
    monkeypatch.setattr(schedule, "MOST_ROWS", 40)
    frontier = Frontier(order=order)
    [url] = claimed(frontier, 1)
    rows = []

    def count(execute, sql, params, many, context):
        arrays = params.values() if isinstance(params, dict) else params or ()
        rows.append(max((len(each) for each in arrays if isinstance(each, list)), default=0))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(count):
        write(frontier, [page(url, 3 * schedule.MOST_ROWS)])

    assert max(rows) == schedule.MOST_ROWS
    assert frontier.states() == {"s": 1, "q": 3 * schedule.MOST_ROWS}
    frontier.check()


def test_links_that_are_met_again_in_slices_count_as_in_one(db, monkeypatch):
    found = {}
    for most in (3, 1000):
        monkeypatch.setattr(schedule, "MOST_ROWS", most)
        frontier = Frontier(order="best_first")
        first, second = claimed(frontier, 2)
        write(frontier, [page(first, 10)])
        again = page(second, 0, None)
        links = candidates(
            *(f"a.test/{first.id}/{n}" for n in range(5, 15)), depth=1, via=second.id
        )
        write(frontier, [outcome(second, links=links, answer=again.answer)])
        frontier.check()
        rows = frontier.run.urls.filter(state="q").order_by("pk")
        found[most] = list(rows.values_list("backlinks", "depth", "rank"))

    assert found[3] == found[1000]
    assert [links for links, _, _ in found[3]] == [1] * 5 + [2] * 5 + [1] * 5


def end_backend():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (pid,) = cursor.fetchone()
    other = connections["default"].copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
    other.close()


def stand_still():
    time.sleep(0.3)  # of a work process that has no turn; the server waits for less


@pytest.mark.parametrize(
    ("happens", "before"),
    [
        (end_backend, "UPDATE crawling_url u\nSET state"),
        (end_backend, "INSERT INTO crawling_url"),
        (stand_still, "crawling_runcount"),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_a_batch_whose_connection_breaks_is_recorded_once(monkeypatch, happens, before):
    frontier = Frontier()
    urls = claimed(frontier, 3)
    monkeypatch.setattr(run_lock, "LONGEST_IDLE", "50ms")
    broken = []

    def break_once(execute, sql, params, many, context):
        if before in sql and not broken:
            broken.append(sql)
            happens()
        return execute(sql, params, many, context)

    with connection.execute_wrapper(break_once):
        settled = write(frontier, [page(url, 4) for url in urls[:2]] + [outcome(urls[2], "f")])

    assert broken
    assert set(settled) == {url.id for url in urls}
    assert frontier.states() == {"s": 2, "f": 1, "q": 8}
    assert frontier.counts()["fetched"] == Page.objects.count() == 2
    assert frontier.run.log.count() == 1
    frontier.check()


@pytest.mark.django_db(transaction=True)
def test_a_batch_whose_connection_breaks_after_its_commit_counts_once_and_as_recorded(monkeypatch):
    frontier = Frontier()
    urls = claimed(frontier, 2)
    record, breaks = outcome_writer.record_batch, [OperationalError("server closed the connection")]

    def break_after_commit(*args, **options):
        settled = record(*args, **options)
        if breaks:
            raise breaks.pop()
        return settled

    monkeypatch.setattr(outcome_writer, "record_batch", break_after_commit)
    settled = write(frontier, [page(url, 4) for url in urls])

    assert set(settled) == {url.id for url in urls}
    assert frontier.states() == {"s": 2, "q": 8}
    frontier.check()


@pytest.mark.django_db(transaction=True)
def test_what_another_shift_has_by_now_is_not_taken_for_recorded(monkeypatch):
    frontier = Frontier()
    [url] = claimed(frontier, 1)
    ours, record, breaks = frontier.shift, outcome_writer.record_batch, [1]

    def lose_it(*args, **options):
        if breaks:
            breaks.pop()
            frontier.give_back()
            Shift.objects.update(ended_at=timezone.now())
            frontier.claim(shift=frontier.begin_shift())
            raise OperationalError("server closed the connection")
        return record(*args, **options)

    monkeypatch.setattr(outcome_writer, "record_batch", lose_it)

    assert not record_all(ours, [page(url, 4)], numbers=[0], memory=RecordingState(), lengths={})
    assert frontier.states() == {"p": 1}
    frontier.check()
