"""A file's length is committed with the pages of everything before it: a kill right afterwards
leaves no record without a page.
"""

from __future__ import annotations

from queue import Empty, SimpleQueue

import pytest
from django.utils import timezone

from allocation.services import take_lease
from crawling.fetching.shift.archive_stage import OUTCOME_LOOKS, ArchiveStage
from crawling.fetching.shift.grants import ShiftGrants
from crawling.frontier import CapturedExchange, ServerAnswer, UrlOutcome
from crawling.frontier.record.outcome_writer import record_batch
from crawling.models import ArchiveFile, RunProcess, Shift, UrlState
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.shift_lifecycle import begin_shift
from crawling.runs.start import start_run
from crawling.web.document_stream import DocumentStream
from crawling.web.exchanges import Exchange
from crawling.web.statuses import FetchStatus
from tests.crawling.conftest import granted_starts
from tests.crawling.frontiers import Frontier
from tests.stack import wait_until

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"


def outcome_of(number: int) -> UrlOutcome:
    exchange = Exchange(b"GET / HTTP/1.1\r\n\r\n", HEAD, DocumentStream.of(b"%d" % number))
    url = f"http://127.0.0.1:8900/{number}"
    answer = ServerAnswer(200, url, "text/plain", 1, number, "127.0.0.1", 0.1, timezone.now())
    return UrlOutcome(
        number,
        UrlState.SUCCEEDED,
        200,
        answer=answer,
        captured=CapturedExchange(url, 0, 1, exchange),
    )


class LateQueue(SimpleQueue):
    """Of a machine that was suspended: so many waits are over before anything came."""

    def __init__(self, lost_waits):
        super().__init__()
        self.lost_waits = lost_waits

    def get(self, *args, **options):
        self.lost_waits -= 1
        if self.lost_waits >= 0:
            raise Empty
        return super().get(*args, **options)


@pytest.fixture
def archive(order):
    start_run(create_crawl(order("http://127.0.0.1:8900/")))
    ((process, epoch),) = granted_starts()
    take_lease(process=process, epoch=epoch, worker="w")
    shift = begin_shift(
        RunProcess.objects.select_related("run__crawl").get(), epoch=epoch, worker="w"
    )
    archive = ArchiveStage(shift, ShiftGrants(shift), user_agent="us")
    yield archive
    archive.end()
    archive.close()


@pytest.mark.parametrize("lost_waits", [0, 1])
def test_a_document_whose_outcome_is_still_on_its_way_is_waited_for(archive, lost_waits):
    coming = LateQueue(lost_waits)
    first, second = outcome_of(1), outcome_of(2)
    for outcome in (first, second):
        archive.put(outcome.captured, outcome.answer)
    wait_until(archive.is_ready)
    coming.put(second)  # a fetch thread puts it right behind its document
    kept, lengths, later = archive.settle([first], coming, is_ending=False)

    assert (kept, later) == ([first, second], [])
    assert lengths[first.captured.place.file_id] > second.captured.place.offset


class Overtaking(SimpleQueue):
    """Another fetch thread hands in a document, and says what became of it, before the one that is
    waited for does.
    """

    def __init__(self, archive, overtakes, waited_for):
        super().__init__()
        self.archive, self.coming = archive, [overtakes, waited_for]

    def get(self, *args, **options):
        outcome = self.coming.pop(0)
        if self.coming:
            self.archive.put(outcome.captured, outcome.answer)
        return outcome


def test_a_document_that_comes_while_a_batch_is_synced_is_of_the_next(archive):
    first, second, third = (outcome_of(number) for number in range(1, 4))
    for outcome in (first, second):
        archive.put(outcome.captured, outcome.answer)
    wait_until(archive.is_ready)

    batch = archive.settle([first], Overtaking(archive, third, second), is_ending=False)
    after = archive.settle(batch.later, SimpleQueue(), is_ending=False)

    assert (batch.outcomes, batch.later) == ([first, second], [third])
    assert (after.outcomes, after.later) == ([third], [])
    (file,) = batch.lengths
    assert second.captured.place.offset < batch.lengths[file] == third.captured.place.offset
    assert after.lengths[file] > third.captured.place.offset


def test_a_failure_that_comes_while_a_batch_is_synced_is_recorded_with_it(archive):
    first, second = outcome_of(1), outcome_of(2)
    failure = UrlOutcome(3, UrlState.FAILED, FetchStatus.TIMED_OUT)
    for outcome in (first, second):
        archive.put(outcome.captured, outcome.answer)
    wait_until(archive.is_ready)
    coming = SimpleQueue()
    for outcome in (failure, second):
        coming.put(outcome)

    batch = archive.settle([first], coming, is_ending=False)

    assert (batch.outcomes, batch.later) == ([first, failure, second], [])


class FastFetches(SimpleQueue):
    """Fetch threads that hand in the next document before they tell what became of the latest."""

    def __init__(self, archive, coming):
        super().__init__()
        self.archive, self.coming = archive, coming

    def get(self, *args, **options):
        outcome = self.coming.pop(0)
        if self.coming:
            self.archive.put(self.coming[0].captured, self.coming[0].answer)
        return outcome


class Batch(list):
    passes = 0

    def __iter__(self):
        self.passes += 1
        return super().__iter__()


def test_a_batch_closes_with_its_first_sync_however_fast_fetches_are(archive):
    batch = Batch(outcome_of(number) for number in range(1, 51))
    coming = [outcome_of(number) for number in range(51, 151)]
    latest = coming[0]
    for outcome in (*batch, latest):
        archive.put(outcome.captured, outcome.answer)
    wait_until(archive.is_ready)
    batch.passes = 0

    settled = archive.settle(batch, FastFetches(archive, coming), is_ending=False)

    assert settled.outcomes == [*list.__iter__(batch), latest]
    assert (settled.later, len(coming)) == ([], 99)
    assert batch.passes <= 5  # its time is linear in its size


def test_an_outcome_that_never_comes_fails_the_shift_in_a_sentence(archive):
    lost = outcome_of(1)
    archive.put(lost.captured, lost.answer)
    archive.put(outcome_of(2).captured, lost.answer)
    wait_until(archive.is_ready)

    with pytest.raises(RuntimeError, match="did not tell the result of its URL"):
        archive.settle([lost], LateQueue(OUTCOME_LOOKS), is_ending=False)


def test_records_without_a_page_count_by_themselves_but_not_those_of_a_shift_whose_books_are_closed(
    db,
):
    frontier = Frontier()
    file = ArchiveFile.objects.create(
        run=frontier.run, name="run1-here-0-00000.warc.gz", machine="here", slot=0
    )

    for length, ends in ((9, False), (19, True)):
        if ends:
            Shift.objects.update(ended_at=timezone.now())
        record_batch(frontier.shift, [], numbers=(), lengths={file.pk: length})

    file.refresh_from_db()
    assert file.committed_length == 9
