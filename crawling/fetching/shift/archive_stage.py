"""A shift's archive. It requests a writer from the pool once a document is in hand, and says which
outcomes may be recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

from django.conf import settings
from django.utils import timezone

from crawling.archive.files import BytesLost
from crawling.archive.volumes import WarcVolume
from crawling.archive.writer import ArchiveWriter
from crawling.base.storage import has_bucket
from crawling.fetching.shift.grants import ShiftGrants
from crawling.frontier import CapturedExchange, ServerAnswer, UrlOutcome
from crawling.frontier.admit.crawl_rules import robots_in_words
from crawling.models import CrawlJob, RunProcess, Shift, UrlState
from crawling.orders.claims import ARCHIVE_WRITERS, memory_share_mib
from crawling.orders.sections.reuse import Deduplicate
from crawling.runs.lost_bytes import requeue_pages_of_lost_bytes
from crawling.web.politeness import retry_seconds_after
from crawling.web.statuses import FetchStatus

if TYPE_CHECKING:
    from crawling.archive.uploads import Uploads

#: the longest wait of documents in hand for an archive writer; after it their URLs are tried again
#: later
DEADLINE_SECONDS = 30.0
#: the time between two looks at a wait
LOOK_SECONDS = 0.2
#: a fetch thread puts an outcome directly behind its document; the shift fails after this number of
#: looks without it. A limit in seconds would fail wrongly after the machine was suspended
OUTCOME_LOOKS = 100


class SettledBatch(NamedTuple):
    #: outcomes to be recorded: their documents, if any, are safe on the disk
    outcomes: list[UrlOutcome]
    #: the lengths of files, by their rows' ids, to be committed with them
    lengths: dict[int, int]
    #: the outcomes of the next batch: no sync covers their documents yet
    later: list[UrlOutcome]


class ArchiveStage:
    """The shift's use of archive files. Only the shift's own thread calls it, except `put`, which
    fetch threads call.

    From the first document to the end of the shift it holds one unit of `archive_writers`, if the
    pool has that class. The request is a stage of the shift, which holds its other units meanwhile.
    The pool ensures that this cannot deadlock, and the deadline that it ends.
    """

    def __init__(self, shift: Shift, grants: ShiftGrants, *, user_agent: str) -> None:
        crawl = shift.process.run.crawl
        self._grants = grants
        self._wanted = {ARCHIVE_WRITERS: 1} if crawl.claim.get(ARCHIVE_WRITERS) else {}
        facts = {
            "software": "crawlsite",
            "format": "WARC File Format 1.1",
            "isPartOf": crawl.name,
            "http-header-user-agent": user_agent,
        }
        facts |= {"robots": robots_in_words(crawl, timezone.now())}
        run = shift.process.run
        #: whether no other process of the run archives; once false, this stays false
        self.is_alone = RunProcess.objects.filter(run=run, is_retired=False).count() == 1
        self._writer = (
            ArchiveWriter(
                lambda: _open_volume(
                    lambda: WarcVolume(
                        run,
                        sought=deduplication_scope(crawl),
                        is_alone=lambda: self.is_alone,
                        facts=facts,
                    )
                ),
                # documents that wait belong to no thread, and half of the threads' shares is for
                # them
                memory_share_mib(crawl.claim) * crawl.claim["fetch_slots"] // 2,
            )
            if crawl.archive
            else None
        )
        self._uploads = _new_uploads() if crawl.archive and has_bucket() else None
        self._looked_at = self._ask_until = 0.0
        self._is_abandoned = False

    @property
    def is_on(self) -> bool:
        return self._writer is not None

    @property
    def has_file(self) -> bool:
        return self._writer is not None and self._writer.is_open

    @property
    def trouble(self) -> str:
        """Why the archive cannot write; empty if it can."""
        return self._writer.trouble if self._writer else ""

    @property
    def upload_trouble(self) -> str:
        """Why the bucket refuses files; empty if it takes them."""
        return self._uploads.trouble if self._uploads else ""

    @property
    def lacks_memory(self) -> bool:
        """Whether something could not be written for lack of memory."""
        return self._writer is not None and self._writer.lacks_memory

    @property
    def wants_stage(self) -> bool:
        """Whether documents wait for a writer that is not requested yet."""
        return bool(self._writer and self._writer.is_held and self._wanted and not self._ask_until)

    def put(self, captured: CapturedExchange, answer: ServerAnswer) -> None:
        """Take in a document; wait while too many are in hand."""
        assert self._writer is not None
        self._writer.put(captured, answer)

    def is_ready(self) -> bool:
        """Whether outcomes can be settled now.

        If not, a writer was requested from the pool, with a deadline.
        """
        if self._writer is None or not self._writer.is_held:
            return True
        now = time.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return False
        self._looked_at = now
        if not self._wanted or self._is_writer_granted(now):
            self._writer.begin()
            return True
        return False

    def _is_writer_granted(self, now: float) -> bool:
        """Whether the writer is granted. A request that waits too long is withdrawn."""
        if not self._ask_until:
            if self._grants.has_stage:
                return False
            self._ask_until = now + DEADLINE_SECONDS
            return self._grants.request_stage(self._wanted, DEADLINE_SECONDS)
        if self._grants.stage_granted(give_up=now > self._ask_until):
            return True
        if now > self._ask_until:
            assert self._writer is not None
            self._ask_until = 0.0
            self._writer.drop_waiting()
        return False

    def settle(
        self, outcomes: Sequence[UrlOutcome], coming: SimpleQueue[UrlOutcome], *, is_ending: bool
    ) -> SettledBatch:
        """Sync once, and return what may now be recorded.

        Fetch threads hand in a document first and then its outcome: the missing outcomes of written
        documents are awaited in `coming`. A file's committed length must not reach beyond its
        pages, or a kill would leave records without a page. Documents that come meanwhile wait for
        the next batch: a further sync for them would find newer ones, and so on while fetches are
        fast. A document that was dropped because no writer came free in time is a failed try. A
        document that cannot be written, or that the end of the shift cut off, is no try: its URL is
        given back.
        """
        if self._writer is None or not (
            self._writer.has_aside or any(outcome.captured for outcome in outcomes)
        ):
            return SettledBatch(list(outcomes), {}, [])
        lengths, written = self._writer.sync()
        awaited, later = _awaited(outcomes, written, coming)
        batch = [*outcomes, *awaited]
        without = [outcome for outcome in batch if outcome.captured is None]
        if self.trouble or self.lacks_memory or self._is_abandoned:
            return SettledBatch(without, {}, [])
        kept = [outcome for outcome in batch if outcome.captured is None or outcome.captured.place]
        dropped = [outcome for outcome in batch if outcome.captured and not outcome.captured.place]
        failed = [] if is_ending else [_too_late(outcome) for outcome in dropped]
        return SettledBatch(kept + failed, lengths, later)

    def note_committed(self, lengths: Mapping[int, int]) -> None:
        """Note the committed lengths of files, whose bytes may go into the bucket."""
        if self._uploads:
            self._uploads.note(lengths)

    def abandon(self) -> None:
        """Commit nothing more. A batch could not be recorded, so its records in the file have no
        page, and a length committed later would include them. The next opening of the file cuts
        them off.
        """
        self._is_abandoned = True

    def end(self) -> None:
        """Let no fetch thread wait for the pool any longer. Documents that are not written by now
        are dropped.
        """
        if self._writer:
            self._writer.stop_holding()

    def close(self) -> None:
        """Close the files and release the slot."""
        if self._writer:
            self._writer.close()
        if self._uploads:
            self._uploads.finish()


def _new_uploads() -> Uploads:
    from crawling.archive.uploads import Uploads  # its library is loaded only if there is a bucket

    return Uploads()


def _open_volume(opened: Callable[[], WarcVolume]) -> WarcVolume:
    """Open the files of the shift. Pages whose bytes this machine has lost are fetched again."""
    while True:
        try:
            return opened()
        except BytesLost as lost:
            requeue_pages_of_lost_bytes(lost.row)


def deduplication_scope(crawl: CrawlJob) -> Deduplicate:
    """The archives in which a payload counts as stored. An answer that may be meant for this crawl
    alone never refers to another crawl's payload.
    """
    sought = crawl.order.reuse.deduplicate
    return "crawl" if sought == "all" and crawl.order.fetching.shows_itself else sought


def _awaited(
    outcomes: Iterable[UrlOutcome],
    written: Iterable[CapturedExchange],
    coming: SimpleQueue[UrlOutcome],
) -> tuple[list[UrlOutcome], list[UrlOutcome]]:
    """The missing outcomes of written documents, and outcomes without a document that come
    meanwhile. Then the outcomes of further documents.
    """
    missing = {id(captured) for captured in written}
    missing.difference_update(id(outcome.captured) for outcome in outcomes)
    awaited: list[UrlOutcome] = []
    later: list[UrlOutcome] = []
    while missing:
        outcome = _await_outcome(coming)
        is_further = outcome.captured is not None and id(outcome.captured) not in missing
        (later if is_further else awaited).append(outcome)
        missing.discard(id(outcome.captured))
    return awaited, later


def _await_outcome(coming: SimpleQueue[UrlOutcome]) -> UrlOutcome:
    for _ in range(OUTCOME_LOOKS):
        with suppress(Empty):
            return coming.get(timeout=LOOK_SECONDS)
    raise RuntimeError(
        "a fetch thread handed in a document and did not tell the result of its URL; the "
        "worker's log may say why"
    )


def _too_late(outcome: UrlOutcome) -> UrlOutcome:
    assert outcome.captured is not None
    status, retry = FetchStatus.ARCHIVE_BUSY, retry_seconds_after(outcome.captured.attempts)
    state = UrlState.FAILED if retry is None else UrlState.QUEUED
    return replace(
        outcome,
        state=state,
        status=status,
        error=status.sentence,
        retry_seconds=retry,
        answer=None,
        links=(),
        captured=None,
    )


def paused_by(trouble: str) -> str:
    return (
        f"Paused because the archive cannot be written ({trouble}). Nothing is lost: what was "
        "not written will be fetched again. "
        f"See to {settings.ARCHIVE_DIR} on its worker's machine, then resume the crawl."
    )


def paused_by_bucket(trouble: str) -> str:
    return (
        f"Paused because the archive cannot be uploaded: {trouble}. Nothing is lost: what is not "
        "uploaded yet is on the machine that fetched it, and is uploaded once the crawl is resumed."
    )
