"""Translates WARC and WACZ files into a WARC file of ours and the rows of a checkpoint.
`crawling.imports.importing` runs this module as a program of its own, without the database.

Its arguments are a folder that has `archive`, the namespace of its first file, and the files. Each
second it writes a line: how many bytes of the files it has read, and how many answers were in them.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
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
    measure,
    packed,
    record_id,
    request,
    response,
    revisit,
    warcinfo,
)
from crawling.archive.records import (
    resource as resource_record,
)
from crawling.imports.foreign_files import ForeignAnswer, ForeignFile, Unreadable
from crawling.imports.page_facts import facts_of
from crawling.process.orphans import stop_with_parent
from crawling.web.addresses import fingerprint
from crawling.web.document_stream import DocumentStream

MEMORY_BYTES = 1024 * 1024 * 1024
CPU_SECONDS = 5 * 60 * 60
#: between two lines about the progress
NOTED_SECONDS = 1.0
#: a file of ours is ended at this length
FILE_BYTES = 10**9
UNREADABLE = 3
HTML = ("text/html", "application/xhtml+xml")
#: what is the same of all pages with one payload
OF_THE_DOCUMENT = (
    *("payload_sha256", "fingerprint", "digest", "bytes", "charset", "title", "author"),
    *("description", "abstract", "language", "canonical", "links", "simhash", "needs_browser"),
    "unread",
)
TABLES = """
CREATE TABLE page (id INTEGER PRIMARY KEY, url TEXT UNIQUE, at TEXT, host TEXT, facts TEXT,
    digest TEXT, label TEXT, refers TEXT);
CREATE TABLE payload (label TEXT PRIMARY KEY, facts TEXT);
"""
#: of several answers of one URL the latest is the page; one that says that the document is that of
#: another answer, whichever comes first, leaves that one the page, for it has the payload
ADD_PAGE = """
INSERT INTO page (url, at, host, facts, digest, label, refers) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (url) DO UPDATE SET at = excluded.at, facts = excluded.facts, digest = excluded.digest,
    label = excluded.label, refers = excluded.refers
WHERE CASE WHEN excluded.refers = page.label THEN false WHEN page.refers = excluded.label THEN true
    ELSE excluded.at >= page.at END
"""
#: the payload may come behind what refers to it
REFER = """
UPDATE page SET facts = merged(page.facts, payload.facts),
    digest = coalesce(json_extract(payload.facts, '$.digest'), '')
FROM payload WHERE payload.label = page.refers
"""
PAGES = """
SELECT id, url, at, host, facts, min(CASE WHEN digest <> '' THEN id END) OVER (PARTITION BY digest)
FROM page ORDER BY id
"""
HOSTS = "SELECT host, count(*) FROM page GROUP BY host ORDER BY min(id)"


@dataclass
class Translation:
    """Takes answers, and writes them to the folder."""

    folder: Path
    names: list[str]
    #: of the first file; known beforehand, so that an import can be recognised
    namespace: str
    files: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    _file: IO[bytes] | None = None
    _length: int = 0

    def __post_init__(self) -> None:
        self._rows = sqlite3.connect(self.folder / "rows.sqlite")
        self._rows.execute("PRAGMA synchronous = off")
        self._rows.create_function("merged", 2, _merged)
        self._rows.executescript(TABLES)

    def take(self, answer: ForeignAnswer) -> None:
        """Archive an answer, and note its page."""
        if self._file is None or self._length >= FILE_BYTES:
            self._next_file()
        with closing(answer.payload):
            content = DocumentStream(answer.payload, answer.payload.seek(0, os.SEEK_END))
            payload = measure(answer.head, content, content.sha256())
            place = {
                "archive_file_id": len(self.files),
                "archive_offset": self._length,
                "payload_sha256": _bytes(payload.sha256),
                "is_revisit": answer.kind == "revisit",
            }
            capture = Capture(answer.address.url, answer.at, 0.0, answer.server, None)
            place["archive_length"] = self._append(_record(answer, capture, payload))
            if answer.request:
                asked = request(self._identity(), capture, answer.request, answer=answer.record_id)
                self._append(asked)
            facts = {**facts_of(answer), **place}
        self._note(answer, payload, facts)

    def _note(self, answer: ForeignAnswer, payload: Payload, facts: dict[str, Any]) -> None:
        label: str | None = payload.digest
        refers = None
        if answer.kind == "revisit":
            label, refers = None, answer.digest or None
        else:
            content = json.dumps({name: facts[name] for name in OF_THE_DOCUMENT})
            self._rows.execute("INSERT OR IGNORE INTO payload VALUES (?, ?)", [label, content])
        where = answer.address.url, answer.at.isoformat(), answer.address.host_key
        row = (*where, json.dumps(facts), facts["digest"] or "", label, refers)
        self._rows.execute(ADD_PAGE, row)

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
        self._append(warcinfo(self._identity(), at=now, file_name=name, facts=facts))

    def _identity(self) -> str:
        return record_id(UUID(self.files[-1]["namespace"]), self._length)

    def _append(self, record: WarcRecord) -> int:
        assert self._file
        size = sum(map(self._file.write, packed(record)))
        self._length += size
        return size

    def _end_file(self) -> None:
        assert self._file
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self.files[-1]["committed_length"] = self._length

    def finish(self) -> None:
        """Write the rows of all parts. A page that refers to a payload says of the document what
        that one does."""
        self._rows.execute(REFER)
        if self._file:
            self._end_file()
        now = datetime.now(UTC).isoformat()
        hosts = {
            name: (number + 1, n) for number, (name, n) in enumerate(self._rows.execute(HOSTS))
        }
        for row in self.files:
            row |= {"machine": "import", "slot": 0, "opened_at": now}
        self._write("archive", iter(self.files))
        self._write("hosts", ({"name": n, "delay_seconds": 0, "due_at": now} for n in hosts))
        self._write("queues", (_queue(name, *hosts[name], now) for name in hosts))
        self._write("urls", (_url(row, hosts) for row in self._rows.execute(PAGES)))
        self._write("pages", (_page(row) for row in self._rows.execute(PAGES)))
        self._write("summary", iter([self._summary()]))
        self._rows.close()
        (self.folder / "rows.sqlite").unlink()

    def _summary(self) -> dict[str, Any]:
        """What is known of all of it."""
        said: dict[str, Any] = {"left_out": self.left_out, "succeeded": 0, "failed": 0, "bytes": 0}
        said |= {
            "pages": 0,
            "duplicate": 0,
            "statuses": {},
            "first": None,
            "last": None,
            "seed": "",
        }
        for number, url, at, _, text, original in self._rows.execute(PAGES):
            facts = json.loads(text)
            ended = "succeeded" if facts["status"] < 400 else "failed"
            said["pages"] += 1
            said[ended] += 1
            said["bytes"] += facts["bytes"]
            said["duplicate"] += original not in (None, number)
            status = str(facts["status"])
            said["statuses"][status] = said["statuses"].get(status, 0) + 1
            said["first"] = min(said["first"] or at, at)
            said["last"] = max(said["last"] or at, at)
            is_page = facts["status"] == 200 and facts["content_type"] in HTML
            said["seed"] = said["seed"] or (url if is_page else "")
        first = self._rows.execute("SELECT url FROM page ORDER BY id LIMIT 1").fetchone()
        said["seed"] = said["seed"] or (first[0] if first else "")
        return said

    def _write(self, name: str, rows: Iterator[Mapping[str, Any]]) -> None:
        with (self.folder / f"{name}.jsonl").open("w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


def _record(answer: ForeignAnswer, capture: Capture, payload: Payload) -> WarcRecord:
    if answer.kind == "resource":
        return resource_record(answer.record_id, capture, answer.content_type, payload)
    if answer.kind == "response":
        return response(
            answer.record_id, capture, answer.head, payload, is_cut_short=answer.is_cut_short
        )
    return revisit(
        answer.record_id,
        capture,
        answer.head,
        profile=NOT_MODIFIED if answer.is_not_modified else IDENTICAL,
        digest=answer.digest or None,
        original=answer.original,
    )


def _merged(facts: str, content: str) -> str:
    return json.dumps(json.loads(facts) | json.loads(content))


def _bytes(value: bytes) -> str:
    """As PostgreSQL writes bytes in JSON."""
    return "\\x" + value.hex()


def _queue(name: str, number: int, urls: int, now: str) -> dict[str, Any]:
    counts = {"queued": 0, "done": urls, "pages": urls, "bytes": 0}
    return {"id": number, "host": name, "process_number": 0, "due_at": now, **counts}


def _url(row: tuple[Any, ...], hosts: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    number, url, _, host, text, _ = row
    facts = json.loads(text)
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


def _page(row: tuple[Any, ...]) -> dict[str, Any]:
    number, _, at, _, text, original = row
    facts = json.loads(text)
    copy = {"duplicate_of": original if original != number else None}
    return {"url_id": number, "fetched_at": at, "fetch_seconds": 0, **facts, **copy}


def translate(
    folder: Path, namespace: str, files: Sequence[Path], note: Callable[[int, int], None]
) -> None:
    """Write what the files have to a folder. note: is told after each answer how many bytes of them
    are read, and how many answers were there.

    Raises Unreadable if nothing of a file can be read; one that breaks off counts to there.
    """
    translation = Translation(folder, [file.name for file in files], namespace)
    read_before = answers = 0
    for path in files:
        foreign, taken = ForeignFile(path), 0
        try:
            for answer in foreign.answers():
                translation.take(answer)
                taken += 1
                note(read_before + foreign.position, answers + taken)
        except Unreadable as error:
            if not taken:
                raise
            reason = f"are behind damage: {error}"
            translation.left_out[reason] = translation.left_out.get(reason, 0) + 1
        for reason, count in foreign.left_out.items():
            translation.left_out[reason] = translation.left_out.get(reason, 0) + count
        read_before += path.stat().st_size
        answers += taken
    note(read_before, answers)
    translation.finish()


def main(folder: str, namespace: str, *files: str) -> None:
    """Translate within limits. Raises Unreadable."""
    stop_with_parent()
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    with suppress(OSError, ValueError):  # refused by macOS, or smaller already
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    noted_at = -NOTED_SECONDS

    def note(read: int, answers: int) -> None:
        nonlocal noted_at
        if time.monotonic() - noted_at >= NOTED_SECONDS:
            noted_at = time.monotonic()
            sys.stdout.write(f"{read} {answers}\n")
            sys.stdout.flush()

    translate(Path(folder), namespace, [Path(file) for file in files], note)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Unreadable as trouble:
        sys.stderr.write(str(trouble))
        sys.exit(UNREADABLE)
    except MemoryError:
        sys.stderr.write("A record of the files needs more memory than is allowed.")
        sys.exit(UNREADABLE)
    except OSError as error:
        sys.stderr.write(f"What was read cannot be written: {error.strerror}.")
        sys.exit(UNREADABLE)
    except sqlite3.OperationalError as error:
        sys.stderr.write(f"What was read cannot be written in STATE_DIR: {error}.")
        sys.exit(UNREADABLE)
