"""Fetch threads: each takes a visit that is due, does one step, gives the visit back, and reads the
answer (SEEDS B11).
"""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from functools import partial
from queue import SimpleQueue

from django.db import connections

from crawling.fetching.pipeline.client import LeaseLost
from crawling.fetching.pipeline.context import FetchContext
from crawling.fetching.pipeline.stages import UnreadAnswer, read, step
from crawling.fetching.pipeline.visit import Visit
from crawling.fetching.shift.workbench import Workbench
from crawling.frontier import ClaimedUrl, UrlOutcome
from crawling.machine.memory_limit import give_back_free_memory
from crawling.machine.vitals import VITALS
from crawling.models import UrlState
from crawling.web.documents.html import TYPES as PAGE_TYPES
from crawling.web.fetch.deferred_work import (
    defer_work,
    do_next_deferred,
    do_ready_work,
    has_deferred_work,
)
from crawling.web.fetch.progress import FetchStep, ProgressBoard, report_step
from crawling.web.politeness import retry_seconds_after
from crawling.web.statuses import FetchStatus

logger = logging.getLogger(__name__)

#: A page up to this size is read while the host answers the next request, since reading takes some
#: milliseconds. While a longer page is read, the next answer would wait for too long
SHORT_BYTES = 256 * 1024


class FetchThreadPool:
    """As many fetch threads as the shift holds fetch slots; surplus threads retire after their URL
    (B11's `setSize`).
    """

    def __init__(self, bench: Workbench, context: FetchContext) -> None:
        self._bench = bench
        self._context = context
        self._threads: dict[int, threading.Thread] = {}
        self._size = 0
        #: by fetch thread number and URL id
        self._in_hand: dict[tuple[int, int], tuple[ClaimedUrl, Visit]] = {}
        #: by fetch thread number, the seconds within its step in which it has read another URL's
        #: page
        self._read_aside: dict[int, float] = {}
        self.outcomes: SimpleQueue[UrlOutcome] = SimpleQueue()
        self.board = ProgressBoard()

    def set_size(self, size: int) -> None:
        """Start or retire fetch threads until `size` are at work."""
        self._size = size
        self._bench.wake()
        self._threads = {
            number: thread for number, thread in self._threads.items() if thread.is_alive()
        }
        for number in set(range(size)) - self._threads.keys():
            thread = threading.Thread(
                target=self._work, args=(number,), name=f"fetch-{number}", daemon=True
            )
            with suppress(RuntimeError):  # no memory for a further thread; the next look starts it
                thread.start()
                self._threads[number] = thread

    def at_work(self) -> int:
        """The number of fetch threads, including those that retire after their URL."""
        return sum(thread.is_alive() for thread in self._threads.values())

    def _work(self, number: int) -> None:
        self.board.join(number)
        try:
            back: Visit | None = None
            while visit := self._next_visit(number, back):
                with VITALS.hold_url(number, visit.urls[0].id):
                    back = self._step(visit, number)
                report_step(FetchStep.WAITING_FOR_HOST, "")
        finally:
            self.board.leave(number)
            # a robots.txt on another host may have needed a DNS look-up, which opened a connection
            connections.close_all()

    def _next_visit(self, number: int, back: Visit | None) -> Visit | None:
        """The next visit that is due. While none is due, read a deferred page."""

        def is_wanted() -> bool:
            return number < self._size

        if not has_deferred_work():
            return self._bench.take(is_wanted, back=back)
        if visit := self._bench.take(is_wanted, back=back, is_unread=True):
            return visit
        do_next_deferred()
        return self._bench.take(is_wanted)

    def _step(self, visit: Visit, number: int) -> Visit | None:
        """Do a step. Return the visit that has to go back to the workbench; None if it is there
        already.
        """
        claimed, began_at = visit.urls[0], time.monotonic()
        self._in_hand[number, claimed.id], self._read_aside[number] = (claimed, visit), 0.0
        try:
            made = step(visit, self._context)
        except LeaseLost:
            self._bench.close()
            made = None  # the shift that has the lease fetches the URL
        # any fault of our own must cost one URL and not the crawl
        except Exception as error:
            made = _fault_outcome(claimed, error)
            if visit.urls and visit.urls[0] is claimed:
                visit.urls.popleft()
            visit.clock.rest_for_delay()
        if isinstance(made, UnreadAnswer):
            do_ready_work()
        else:  # deferred pages would otherwise count as one of this visit when it goes back
            do_next_deferred()
        held = time.monotonic() - began_at - self._read_aside[number]
        visit.penalise(held, threads=self._size)
        if isinstance(made, UnreadAnswer):
            reading = partial(self._finish_answer, made, visit, number)
            if _is_short(made):
                defer_work(reading, made.is_read)
                return visit
            self._bench.give_back(visit)
            reading()
            return None
        if made:
            self._hand_in(made, claimed)
        del self._in_hand[number, claimed.id]
        return visit

    def _finish_answer(self, answer: UnreadAnswer, visit: Visit, number: int) -> None:
        claimed, began_at = answer.claimed, time.monotonic()
        with VITALS.hold_url(number, claimed.id), self.board.hide_thread(number, claimed.url):
            self._hand_in(self._read(answer, visit), claimed)
        held = time.monotonic() - began_at
        self._read_aside[number] += held
        visit.penalise(held, threads=self._size)
        del self._in_hand[number, claimed.id]
        self._bench.has_read(visit)

    def _read(self, answer: UnreadAnswer, visit: Visit) -> UrlOutcome:
        try:
            return read(answer, visit, self._context)
        # as above, for the reading: a fault that a page causes costs that page alone
        except Exception as error:
            return _fault_outcome(answer.claimed, error)

    def _hand_in(self, outcome: UrlOutcome, claimed: ClaimedUrl) -> None:
        """Hand in the outcome before the visit is empty, so that all outcomes of a drained visit
        are here.
        """
        if outcome.captured and outcome.answer:
            report_step(FetchStep.ARCHIVING)
            try:
                # before the outcome, which implies that the archive has the document
                self._context.port.archive(outcome.captured, outcome.answer)
            except MemoryError as error:  # a document that is being read uses the memory
                outcome.captured.exchange.close()
                outcome = _fault_outcome(claimed, error)
        self.outcomes.put(outcome)

    def in_hand(self) -> list[ClaimedUrl]:
        """The URLs that fetch threads work on, including those whose robots.txt or login they
        fetch.
        """
        return [claimed for claimed, _ in self._in_hand.copy().values()]

    def asked_for(self) -> list[ClaimedUrl]:
        return [
            claimed for claimed, visit in self._in_hand.copy().values() if claimed not in visit.urls
        ]

    def join(self, seconds: float) -> bool:
        """Wait for the fetch threads of a closed workbench. Return whether all have ended."""
        until = time.monotonic() + seconds
        for thread in self._threads.values():
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads.values())


def _is_short(answer: UnreadAnswer) -> bool:
    fetched = answer.fetched
    return fetched.content_type in PAGE_TYPES and len(fetched.body) <= SHORT_BYTES


def _fault_outcome(claimed: ClaimedUrl, error: Exception) -> UrlOutcome:
    told = f"{type(error).__name__}: {error}"[:500].replace("\0", "")
    if not isinstance(error, MemoryError):
        logger.error("a fetch thread stumbled", extra={"url": claimed.url}, exc_info=error)
        return UrlOutcome(claimed.id, UrlState.FAILED, FetchStatus.OUR_FAULT, told)
    error.__traceback__ = None  # so that the objects of its frames are free before others run
    # Another thread's document may use the memory at this moment, so the URL is tried again.
    logger.warning("no memory was left", extra={"url": claimed.url})
    give_back_free_memory()
    retry = retry_seconds_after(claimed.attempts)
    state = UrlState.FAILED if retry is None else UrlState.QUEUED
    return UrlOutcome(
        claimed.id,
        state,
        FetchStatus.MEMORY_SPENT,
        FetchStatus.MEMORY_SPENT.sentence,
        retry_seconds=retry,
    )
