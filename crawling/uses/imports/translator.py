"""Translates WARC and WACZ files into archive files of our own and the rows of a checkpoint.
`crawling.uses.imports.importing` runs this module as a separate program, without the database.

Its arguments are a folder that contains `archive`, the namespace of the first file there, and the
files. Each second it writes a line: the bytes of the files read so far, and the number of answers
in them.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from uuid import UUID, uuid4

from crawling.archive.records import (
    IDENTICAL,
    NOT_MODIFIED,
    Capture,
    Payload,
    WarcRecord,
    gzip_member,
    known_reference,
    measure_payload,
    record_id,
    request_record,
    resource_record,
    response_record,
    revisit_record,
    warcinfo_record,
)
from crawling.archive.unpacker import MOST_HEAD, open_record
from crawling.machine.sandbox_program import run_sandboxed
from crawling.uses.imports.captures import (
    OF_THE_ANSWER,
    OF_THE_DOCUMENT,
    Captures,
    FurtherFacts,
    Holder,
    PageRow,
    WaitingRevisits,
)
from crawling.uses.imports.foreign_answers import ForeignAnswer, Reference
from crawling.uses.imports.foreign_files import BEHIND, ForeignFile, Unreadable, printable
from crawling.uses.imports.page_facts import facts_of_answer
from crawling.uses.imports.request_bodies import request_of_record
from crawling.uses.imports.segments import Segments
from crawling.web.addresses import MAX_URL_LENGTH, canonical_address, fingerprint
from crawling.web.document_stream import DocumentStream

#: the time between two lines about the progress
NOTED_SECONDS = 1.0
#: the length at which a written file is ended
FILE_BYTES = 10**9
HTML = ("text/html", "application/xhtml+xml")
OF_A_FURTHER_RECORD = (
    *("status", "content_type", "bytes", "archive_file_id", "archive_offset", "archive_length"),
    *("payload_sha256", "is_revisit"),
)


@dataclass
class Translation:
    folder: Path
    names: list[str]
    #: the namespace of the first file; its caller knows it, and recognises an import by it
    namespace: str
    files: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    #: the number of records with a fault in the copy, by fault
    remarks: dict[str, int] = field(default_factory=dict)
    _file: IO[bytes] | None = None
    _length: int = 0

    def __post_init__(self) -> None:
        self._captures = Captures(self.folder)
        self._revisits = WaitingRevisits(self.folder)

    def take(self, answer: ForeignAnswer) -> None:
        """Archive an answer. A revisit record is written after the record to which it refers, which
        may be in a later file.
        """
        with closing(answer.payload):
            content = DocumentStream(answer.payload, answer.payload.seek(0, os.SEEK_END))
            payload = measure_payload(answer.head, content, content.sha256())
            facts = facts_of_answer(answer) | {"payload_sha256": _bytea_text(payload.sha256)}
            is_revisit = answer.kind == "revisit"
            if not is_revisit:
                facts |= self._write_exchange(
                    answer, _warc_record(answer, _capture(answer), payload)
                )
        number = self._captures.add(
            answer, request_of_record(answer.request), facts, payload.digest
        )
        if is_revisit:
            self._revisits.add(number, answer, facts)

    def _write_exchange(self, answer: ForeignAnswer, record: WarcRecord) -> dict[str, Any]:
        """Write an answer and its request. Return the place of the answer."""
        if self._file is None or self._length >= FILE_BYTES:
            self._next_file()
        place = {
            "archive_file_id": len(self.files),
            "archive_offset": self._length,
            "is_revisit": answer.kind == "revisit",
        }
        place["archive_length"] = self._append_record(record)
        if answer.request:
            capture, of = _capture(answer), answer.record_id
            self._append_record(
                request_record(self._identity(), capture, answer.request, answer=of)
            )
        return place

    def _settle_revisits(self) -> None:
        """Write the revisit records, once all records to which they may refer are known."""
        for number, answer, facts in self._revisits.all():
            holder = self._captures.holder_of(answer)
            if holder:
                known = OF_THE_DOCUMENT if answer.status else (*OF_THE_DOCUMENT, *OF_THE_ANSWER)
                facts |= {name: holder.facts[name] for name in known}
            elif not answer.status:
                self._captures.forget(number)
                _add_count(self.left_out, "refer to an answer that is not there")
                continue
            else:
                _add_count(self.remarks, "refer to a payload that is not there")
            if holder and not answer.head:
                answer.head = self._head_of(holder)
            facts |= self._write_exchange(answer, _revisit_record(answer, holder))
            self._captures.settle(number, facts, holder)

    def _head_of(self, holder: Holder) -> bytes:
        """The head of the answer as the copy has it, for a revisit record without a head."""
        assert self._file
        self._file.flush()
        facts = holder.facts
        name = self.files[facts["archive_file_id"] - 1]["name"]
        with (self.folder / "archive" / name).open("rb") as file:
            file.seek(facts["archive_offset"])
            stored = open_record([file.read(facts["archive_length"])], MOST_HEAD)
        stored.payload.close()
        return stored.head.encode("latin-1")

    def _next_file(self) -> None:
        if self._file:
            self._end_file()
        namespace = str(uuid4()) if self.files else self.namespace
        name = f"run1-import-0-{len(self.files):05}.warc.gz"
        self.files.append({"id": len(self.files) + 1, "name": name, "namespace": namespace})
        self._file = (self.folder / "archive" / name).open("wb")
        self._length = 0
        facts = {"software": "crawlsite", "description": f"imported from {', '.join(self.names)}"}
        now = datetime.now(UTC)
        self._append_record(warcinfo_record(self._identity(), at=now, file_name=name, facts=facts))

    def _identity(self) -> str:
        return record_id(UUID(self.files[-1]["namespace"]), self._length)

    def _append_record(self, record: WarcRecord) -> int:
        assert self._file
        size = sum(map(self._file.write, gzip_member(record)))
        self._length += size
        return size

    def _end_file(self) -> None:
        assert self._file
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self.files[-1]["committed_length"] = self._length

    def finish(self) -> None:
        self._settle_revisits()
        if self._file:
            self._end_file()
        self._captures.choose_pages()
        now = datetime.now(UTC).isoformat()
        hosts = self._captures.hosts()
        for row in self.files:
            row |= {"machine": "import", "slot": 0, "opened_at": now}
        self._write("archive", iter(self.files))
        self._write("hosts", ({"name": n, "delay_seconds": 0, "due_at": now} for n in hosts))
        self._write("queues", (_queue_row(name, *hosts[name], now) for name in hosts))
        self._write("urls", (_url_row(page, hosts) for page in self._captures.pages()))
        self._write("pages", map(_page_row, self._captures.pages()))
        self._write("further", map(_further_record_row, self._captures.further_records()))
        self._write("summary", iter([self._translation_summary()]))
        self._captures.close()
        self._revisits.close()

    def _translation_summary(self) -> dict[str, Any]:
        said: dict[str, Any] = {"left_out": self.left_out, "remarks": self.remarks}
        said |= dict.fromkeys(("pages", "succeeded", "failed", "duplicate", "bytes"), 0)
        said |= {"statuses": {}, "first": None, "last": None, "seed": ""}
        first = ""
        for number, url, at, _, facts, original in self._captures.pages():
            first = first or _seed_url(url)
            said["pages"] += 1
            said["succeeded" if facts["status"] < 400 else "failed"] += 1
            said["bytes"] += facts["bytes"]
            said["duplicate"] += original not in (None, number)
            status = str(facts["status"])
            said["statuses"][status] = said["statuses"].get(status, 0) + 1
            said["first"] = min(said["first"] or at, at)
            said["last"] = max(said["last"] or at, at)
            is_page = (
                facts["status"] == 200 and facts["content_type"] in HTML and _seed_url(url) == url
            )
            said["seed"] = said["seed"] or (url if is_page else "")
        said["seed"] = said["seed"] or first
        if (notes := self._captures.notes()) and not said["pages"]:
            _add_count(
                self.left_out, "are notes of a crawler, without a page to which they belong", notes
            )
        return said

    def _write(self, name: str, rows: Iterator[Mapping[str, Any]]) -> None:
        with (self.folder / f"{name}.jsonl").open("w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


def _seed_url(url: str) -> str:
    """A seed with which a further run of the crawl can begin."""
    return url if len(url) <= MAX_URL_LENGTH else f"{canonical_address(url).origin}/"


def _capture(answer: ForeignAnswer) -> Capture:
    return Capture(answer.address.url, answer.at.at, 0.0, answer.server, None)


def _warc_record(answer: ForeignAnswer, capture: Capture, payload: Payload) -> WarcRecord:
    if answer.kind == "resource":
        kind = answer.content_type or "application/octet-stream"
        return resource_record(answer.record_id, capture, kind, payload)
    return response_record(
        answer.record_id, capture, answer.head, payload, is_cut_short=answer.is_cut_short
    )


def _revisit_record(answer: ForeignAnswer, holder: Holder | None) -> WarcRecord:
    said = answer.reference or Reference("", "", None)
    return revisit_record(
        answer.record_id,
        _capture(answer),
        answer.head,
        profile=NOT_MODIFIED if answer.is_not_modified else IDENTICAL,
        digest=holder.label if holder else answer.digest or None,
        original=holder.original if holder else None,
        said=known_reference(said.record_id, said.url, said.at.at if said.at else None),
    )


def _add_count(counts: dict[str, int], what: str, count: int = 1) -> None:
    counts[what] = counts.get(what, 0) + count


def _bytea_text(value: bytes) -> str:
    """The bytes in the form that PostgreSQL uses in JSON."""
    return "\\x" + value.hex()


def _queue_row(name: str, number: int, urls: int, now: str) -> dict[str, Any]:
    counts = {"queued": 0, "done": urls, "pages": urls, "bytes": 0}
    return {"id": number, "host": name, "process_number": 0, "due_at": now, **counts}


def _url_row(page: PageRow, hosts: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    number, url, _, host, facts, _ = page
    return {
        "id": number,
        "queue_id": hosts[host][0],
        "fingerprint": fingerprint(url),
        "url": url,
        "depth": 0 if number == 1 else 1,
        "rank": 0,
        "state": "s" if facts["status"] < 400 else "f",
        "attempts": 1,
        "status": facts["status"],
        "error": "",
    }


def _page_row(page: PageRow) -> dict[str, Any]:
    number, _, at, _, facts, original = page
    copy = {"duplicate_of": original if original != number else None}
    return {"url_id": number, "fetched_at": at, "fetch_seconds": 0, **facts, **copy}


def _further_record_row(one: FurtherFacts) -> dict[str, Any]:
    said = {name: one.facts[name] for name in OF_A_FURTHER_RECORD}
    asked = {"method": one.method, "body": one.body}
    return {"url_id": one.page, "target": one.target, "fetched_at": one.at, **asked, **said}


def translate(
    folder: Path, namespace: str, files: Sequence[Path], report_progress: Callable[[int, int], None]
) -> None:
    """Write the content of the files to a folder. report_progress: called after each answer with
    the bytes read so far, and the number of answers.

    Raises Unreadable if no part of a file can be read. A truncated file is read up to its end.
    """
    translation = Translation(folder, [printable(file.name) for file in files], namespace)
    read_before = answers = 0
    segments = Segments()
    for path in files:
        foreign = ForeignFile(
            path, translation.left_out, translation.remarks, segments=segments, folder=folder
        )
        taken = 0
        try:
            for answer in foreign.answers():
                translation.take(answer)
                taken += 1
                report_progress(read_before + foreign.position, answers + taken)
        except Unreadable as error:
            if not taken:
                raise
            foreign.leave_out(f"{BEHIND} {error}")
        read_before += path.stat().st_size
        answers += taken
    for answer in foreign.incomplete():
        translation.take(answer)
        answers += 1
    report_progress(read_before, answers)
    translation.finish()


def main(folder: str, namespace: str, *files: str) -> None:
    """Raises Unreadable."""
    noted_at = -NOTED_SECONDS

    def report_progress(read: int, answers: int) -> None:
        nonlocal noted_at
        if time.monotonic() - noted_at >= NOTED_SECONDS:
            noted_at = time.monotonic()
            sys.stdout.write(f"{read} {answers}\n")
            sys.stdout.flush()

    try:
        translate(Path(folder), namespace, [Path(file) for file in files], report_progress)
    except MemoryError as error:
        told = "A record of the files needs more memory than is allowed."
        raise Unreadable(told) from error
    except OSError as error:
        raise Unreadable(f"The imported data cannot be written: {error.strerror}.") from error
    except sqlite3.OperationalError as error:
        raise Unreadable(f"The imported data cannot be written in STATE_DIR: {error}.") from error


if __name__ == "__main__":
    run_sandboxed(main, Unreadable)
