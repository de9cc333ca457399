"""Writes captures into the files of a slot. Decides which records are written, and into which
file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from django.conf import settings

from crawling.archive import records
from crawling.archive.files import (
    Slot,
    open_last_file,
    open_next_file,
    remove_abandoned,
    this_machine,
)
from crawling.archive.originals import Originals, StoredPayload
from crawling.archive.records import (
    IDENTICAL,
    NOT_MODIFIED,
    Capture,
    Original,
    Payload,
    WarcRecord,
    record_id,
    start_of_fetch,
)
from crawling.frontier import CapturedExchange, ServerAnswer
from crawling.frontier.admit.crawl_rules import OBEYED
from crawling.frontier.types import ArchiveLocation
from crawling.machine.memory_limit import await_free_memory
from crawling.models import Run
from crawling.web.statuses import NOT_MODIFIED_STATUS, is_success


class WarcVolume:
    """The files that one shift writes, one after the other. Used by the archive's thread alone."""

    def __init__(
        self, run: Run, *, sought: str, is_alone: Callable[[], bool], facts: Mapping[str, str]
    ) -> None:
        self._facts = facts
        # The first record of a file lists exceptions from robots.txt, but not those that are made
        # later. So another such record is written before the first record under a later exception.
        self._must_say = facts.get("robots", OBEYED) != OBEYED
        remove_abandoned()
        self._slot = Slot(run.pk, this_machine())
        try:
            self._file = open_last_file(self._slot)
        except BaseException:
            self._slot.close()
            raise
        self._full: dict[int, int] = {}
        self._originals = Originals(run, sought=sought, is_alone=is_alone)

    def keep(self, captures: Sequence[tuple[CapturedExchange, ServerAnswer]]) -> None:
        """Append the records of each capture, and note their places in it. The records are safe
        after `sync`.
        """
        digests = [
            captured.sha256 or captured.exchange.payload.sha256() for captured, _ in captures
        ]
        unknown = {
            digest: (answer.fingerprint, size)
            for (captured, answer), digest in zip(captures, digests, strict=True)
            if captured.has_page
            and self._originals.seeks(size := len(captured.exchange.payload))
            and not self._originals.get(digest, size)
        }
        if unknown:
            self._originals.look_up(unknown)
        for (captured, answer), digest in zip(captures, digests, strict=True):
            self._write_exchange(captured, answer, digest)

    def _write_exchange(
        self, captured: CapturedExchange, answer: ServerAnswer, digest: bytes
    ) -> None:
        self._turn_page()
        exchange = captured.exchange
        payload = records.measure_payload(exchange.head, exchange.payload.at_hand(), digest)
        file, capture = self._file, _capture(captured, answer)
        identity, offset = record_id(file.row.namespace, file.length), file.length
        stored = self._earlier_payload(captured, answer, payload)
        record = _answer(identity, capture, captured, answer, payload, stored)
        length = self._append(record)
        if captured.exchange.request:
            self._append(
                records.request_record(
                    self._next_id(), capture, captured.exchange.request, answer=identity
                )
            )
        self._append(
            records.metadata_record(
                self._next_id(), capture, answer=identity, outlinks=captured.outlinks
            )
        )
        is_revisit = record.tail is None
        # The page of a failed fetch may be tried again; then its row is deleted. A document is
        # found by its page's row, so none of a failed page counts as stored.
        if (
            not is_revisit
            and self._originals.seeks(payload.size)
            and is_success(answer.status)
            and captured.has_page
        ):
            original = Original(identity, capture.url, capture.began_at)
            self._originals.add(payload.sha256, original, length)
        captured.place = ArchiveLocation(
            file.row.pk,
            offset,
            length,
            payload.sha256,
            is_revisit,
            payload_from=stored.page if stored else captured.unchanged_since,
            saved=max(0, stored.length - length) if stored and payload.size else 0,
        )

    def _append(self, record: WarcRecord) -> int:
        begin = self._file.length
        try:
            return self._file.append(records.gzip_member(record))
        except MemoryError:
            # If a document is being read, it uses the memory at this moment. A record needs most of
            # its memory before its first piece.
            if self._file.length != begin:
                raise
            await_free_memory()
            return self._file.append(records.gzip_member(record))

    def _earlier_payload(
        self, captured: CapturedExchange, answer: ServerAnswer, payload: Payload
    ) -> StoredPayload | None:
        """The record that already has the payload, or that a server has confirmed."""
        if not captured.has_page or not captured.exchange.head:
            return None
        if answer.status != NOT_MODIFIED_STATUS:
            return self._originals.get(payload.sha256, payload.size)
        if captured.unchanged_since:
            return self._originals.of_page(captured.unchanged_since)
        return self._originals.of_url(captured.url)

    def _next_id(self) -> str:
        return record_id(self._file.row.namespace, self._file.length)

    def _turn_page(self) -> None:
        """Ensure that a file with space is open. A new file begins with a warcinfo record."""
        if self._file.length >= settings.ARCHIVE_FILE_BYTES:
            self._file.sync()
            self._full[self._file.row.pk] = self._file.length
            self._file.close()
            self._file = open_next_file(self._slot)
        if not self._file.length or self._must_say:
            self._must_say = False
            row = self._file.row
            record = records.warcinfo_record(
                self._next_id(), at=datetime.now(UTC), file_name=row.name, facts=self._facts
            )
            self._append(record)

    def sync(self) -> dict[int, int]:
        """The lengths of the files written since the last call, by the ids of their rows. Returns
        once these files are on the disk.
        """
        self._file.sync()
        lengths, self._full = {**self._full, self._file.row.pk: self._file.length}, {}
        return lengths

    def close(self) -> None:
        """Release the slot. The next opening cuts off bytes that were not committed."""
        self._file.close()
        self._slot.close()


def _answer(
    identity: str,
    capture: Capture,
    captured: CapturedExchange,
    answer: ServerAnswer,
    payload: Payload,
    stored: StoredPayload | None,
) -> WarcRecord:
    head = captured.exchange.head
    if not head:
        return records.resource_record(
            identity, capture, answer.content_type or "application/octet-stream", payload
        )
    original = stored.original if stored else None
    if answer.status == NOT_MODIFIED_STATUS and captured.has_page:
        return records.revisit_record(
            identity, capture, head, profile=NOT_MODIFIED, digest=None, original=original
        )
    if original:
        return records.revisit_record(
            identity, capture, head, profile=IDENTICAL, digest=payload.digest, original=original
        )
    return records.response_record(
        identity, capture, head, payload, is_cut_short=captured.exchange.is_cut_short
    )


def _capture(captured: CapturedExchange, answer: ServerAnswer) -> Capture:
    began_at = start_of_fetch(answer.fetched_at, answer.fetch_seconds)
    return Capture(captured.url, began_at, answer.fetch_seconds, answer.address, captured.depth)
