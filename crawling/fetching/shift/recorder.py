"""A shift's records: the outcomes of URLs, and refused links."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice

from django.utils import timezone

from crawling.base.errors import is_out_of_memory
from crawling.datasets.part_writer import PartWriter
from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.shift.archive_stage import ArchiveStage
from crawling.fetching.shift.fetch_threads import FetchThreadPool
from crawling.fetching.shift.grants import ResourceUse
from crawling.fetching.shift.port import FetchThreadPort
from crawling.frontier import (
    RecordingState,
    UrlOutcome,
    locked_run,
    record_all,
    serving_process_numbers,
)
from crawling.frontier.admit.quarantine import pattern_states
from crawling.frontier.admit.rediscovery import add_links
from crawling.frontier.admit.refusals import count_repeated_links
from crawling.frontier.change.reusable_pages import count_requested_pages
from crawling.frontier.host_state import store_all_robots, store_sessions
from crawling.frontier.own_robots import store_robots_of_run
from crawling.models import Shift
from crawling.runs.shift_lifecycle import FetchThreadLine, note_work
from crawling.web.content.text_facts import NO_TEXT
from crawling.web.statuses import FetchStatus

logger = logging.getLogger(__name__)

#: outcomes are written when there are this many, when the oldest has waited for WRITE_SECONDS, or
#: when the fetch threads have nothing to do
WRITE_AT = 150
WRITE_AFTER_SECONDS = 0.5
#: a batch is recorded early when fewer URLs than this are in hand, since the frontier may have no
#: more URLs before it gets the links of this batch
DRY_BELOW = 50
#: links to known URLs are counted after this time, or at this number of URLs
COUNT_AFTER_SECONDS = 30.0
COUNT_AT = 50_000
#: URLs whose links are counted in one transaction
MOST_COUNTED = 10_000


class OutcomeRecorder:
    """Records outcomes. Used by the shift's own thread; fetch threads hand in outcomes through
    their pool, and other facts about hosts through the port.
    """

    def __init__(
        self,
        shift: Shift,
        context: FetchContext,
        archive: ArchiveStage,
        port: FetchThreadPort,
        threads: FetchThreadPool,
        use: ResourceUse,
    ) -> None:
        self._shift, self._context, self._archive, self._port, self._threads = (
            shift,
            context,
            archive,
            port,
            threads,
        )
        self._links = PartWriter(shift.process.run_id, shift.pk, shift.process.run.started_at)
        self._recording = RecordingState(contents=context.copies.contents)
        self._outcomes: list[UrlOutcome] = []
        #: the lengths of the archive's files that no row has yet
        self._lengths: dict[int, int] = {}
        self._oldest = time.monotonic()
        self.progress = ShiftProgress(shift, threads, use)
        #: the numbers of the run's processes that get hosts
        self.numbers = serving_process_numbers(shift.process.run_id)

    def look(self) -> bool:
        """Read which processes of the run may get new hosts. Return whether that has changed."""
        before, self.numbers = self.numbers, serving_process_numbers(self._shift.process.run_id)
        return before != self.numbers

    @property
    def has_nothing(self) -> bool:
        """Whether all outcomes that were taken up are written."""
        return not self._outcomes

    def take_outcomes(self) -> None:
        """Take the outcomes that have come in, for a bounded time."""
        while not self._threads.outcomes.empty() and len(self._outcomes) < 5 * WRITE_AT:
            if not self._outcomes:
                self._oldest = time.monotonic()
            self._outcomes.append(self._threads.outcomes.get())

    def is_due(self, *, urls_in_hand: int) -> bool:
        """Whether there are enough outcomes, or one has waited for long, or the fetch threads run
        out of URLs.
        """
        count, waited = len(self._outcomes), time.monotonic() - self._oldest
        return (
            count >= WRITE_AT
            or waited > WRITE_AFTER_SECONDS
            or (count > 0 and urls_in_hand < DRY_BELOW)
        )

    def write(self) -> None:
        """Record the collected outcomes, and all other results.

        An outcome that the archive could not store is not written; the archive's `trouble` says
        why. After any other error, no length of a file may be committed any more.
        """
        self._write(is_ending=False)

    def write_the_rest(self, cut: Sequence[UrlOutcome] = ()) -> None:
        """Write everything at the end, with all outcomes that the fetch threads have handed in.
        cut: the outcomes of URLs for which no thread has handed in one.
        """
        while not self._threads.outcomes.empty():
            self._outcomes.append(self._threads.outcomes.get())
        self._write(is_ending=True, cut=cut)
        # outcomes of fetch threads that end late; these threads take no further URLs
        while self._outcomes:
            self._write(is_ending=True)
        for some in _slices(self._context.links.refusals.take_repeats()):
            with locked_run(self._shift.process.run_id) as run:
                count_repeated_links(run.pk, some)
        self._count_links()

    def _write(self, *, is_ending: bool, cut: Sequence[UrlOutcome] = ()) -> None:
        with self._batch() as batch:
            outcomes = self._settled_outcomes(is_ending=is_ending, cut=cut)
            batch.outcomes = outcomes
            if any(outcome.answer for outcome in outcomes):
                self._recording.links_part = self._links.open()
            batch.outcomes = outcomes = list(map(_with_text_facts, outcomes))
            settled = record_all(
                self._shift,
                outcomes,
                numbers=self.numbers,
                memory=self._recording,
                lengths=self._lengths,
            )
        if self._recording.watch.has_held:
            self._recording.watch.has_held = False
            self._context.links.traps.states = pattern_states(self._shift.process.run_id)
        self._links.take(outcomes, settled)
        self._keep_what_hosts_said()
        self._count_offers(outcomes)
        is_late = time.monotonic() - self._recording.links_counted_at > COUNT_AFTER_SECONDS
        if is_late or len(self._recording.links) > COUNT_AT:
            self._count_links()

    @contextmanager
    def _batch(self) -> Iterator[_Batch]:
        """Commit a batch with its archive's lengths. If memory is lacking for its rows, the batch
        is written at the end of the shift. After any other error the batch is abandoned with its
        part of the archive.
        """
        batch = _Batch()
        try:
            yield batch
        except BaseException as error:
            if batch.outcomes is not None and is_out_of_memory(error):
                self._outcomes[:0] = batch.outcomes
            else:
                self._lengths = {}
                self._archive.abandon()
            raise
        self._archive.note_committed(self._lengths)
        self._lengths = {}

    def _settled_outcomes(self, *, is_ending: bool, cut: Sequence[UrlOutcome]) -> list[UrlOutcome]:
        """The outcomes that can be recorded now. cut: outcomes of cut-off fetches, for URLs without
        any other outcome.
        """
        taken, self._outcomes = self._outcomes, []
        outcomes, lengths, later = self._archive.settle(
            taken, self._threads.outcomes, is_ending=is_ending
        )
        if any(outcome.status == FetchStatus.ARCHIVE_BUSY for outcome in outcomes):
            self._context.links.forget()  # the links of these pages do not reach the frontier
        self._outcomes, self._oldest = later, time.monotonic()
        self._lengths |= lengths
        known = {outcome.url_id for outcome in (*taken, *outcomes, *later)}
        return [*outcomes, *(outcome for outcome in cut if outcome.url_id not in known)]

    def _count_links(self) -> None:
        """Count links to known URLs. Most links of most pages lead to known URLs, and one statement
        for each batch would cost more than the rest of the batch.
        """
        links, self._recording.links = self._recording.links, Counter()
        links.update(self._context.links.seen.take_links())
        for some in _slices(links):
            with locked_run(self._shift.process.run_id) as run:
                add_links(run.pk, some)
        self._recording.links_counted_at = time.monotonic()

    def _keep_what_hosts_said(self) -> None:
        if sessions := self._port.taken_sessions():
            store_sessions(self._shift, sessions)
        if robots := self._port.taken_robots():
            store_all_robots(self._shift.process.run_id, robots)
        if robots := self._port.taken_own_robots():
            run = self._shift.process.run
            store_robots_of_run(run.pk, run.crawl.revision, robots)

    def _count_offers(self, outcomes: Sequence[UrlOutcome]) -> None:
        """Count the pages that other crawls have, too: the reused ones, and those that had to be
        fetched after all.
        """
        offered = self._context.offers.settle(outcome.url_id for outcome in outcomes)
        taken = {
            outcome.url_id for outcome in outcomes if outcome.answer and outcome.answer.reused_from
        }
        if offered:
            count_requested_pages(
                {url: url_id in taken for url_id, url in offered.items()}, timezone.now()
            )

    def write_links(self) -> None:
        """Store the links of recorded pages that are not stored yet."""
        self._links.write()


@dataclass
class _Batch:
    #: None until the archive has the documents of these outcomes
    outcomes: list[UrlOutcome] | None = None


def _with_text_facts(outcome: UrlOutcome) -> UrlOutcome:
    """Raises MemoryError."""
    answer = outcome.answer
    try:
        if answer:
            answer.text.compute()
    except MemoryError:
        raise
    # a fault of our own costs this page its abstract, and not the shift
    except Exception as error:
        facts = {"page": outcome.url_id}
        logger.error("a text's facts cannot be computed", extra=facts, exc_info=error)
        return replace(outcome, answer=answer and replace(answer, text=NO_TEXT))
    return outcome


def _slices(counts: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """The counts in slices, each of which holds the run's lock only briefly."""
    items = iter(counts.items())
    while some := dict(islice(items, MOST_COUNTED)):
        yield some


class ShiftProgress:
    def __init__(self, shift: Shift, threads: FetchThreadPool, use: ResourceUse) -> None:
        self._shift, self._threads, self._use = shift, threads, use
        self._shown: tuple[list[FetchThreadLine], dict[str, int]] = [], {}

    def show(self) -> None:
        """Record what fetch threads do and which units the shift uses, if that has changed."""
        threads = [
            FetchThreadLine(number, doing.step, doing.url, doing.since)
            for number, doing in self._threads.board.lines().items()
        ]
        shown = threads, self._use.read()
        if shown != self._shown:
            note_work(self._shift, *shown)
            self._shown = shown
