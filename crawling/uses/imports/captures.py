"""The captures of an import: the capture that becomes the page of each URL, and the places of the
payloads to which revisit records refer. They are in a database file of the translator, since there
may be millions of them.
"""

from __future__ import annotations

import json
import pickle
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple, TypeAlias

from crawling.archive.records import Original
from crawling.uses.imports.foreign_answers import ForeignAnswer, Reference, id_key
from crawling.uses.imports.foreign_records import CALCULATED, EMPTY, digest_spellings
from crawling.uses.imports.moments import Moment
from crawling.uses.imports.request_bodies import AskedBy
from crawling.web.statuses import NOT_MODIFIED_STATUS

#: the fields that are equal for all pages with the same payload
OF_THE_DOCUMENT = (
    *("payload_sha256", "fingerprint", "digest", "bytes", "charset", "title", "author"),
    *("description", "abstract", "language", "canonical", "links", "simhash", "needs_browser"),
    "unread",
)
#: the fields that a revisit record without a head takes from the answer to which it refers
OF_THE_ANSWER = ("status", "content_type", "last_modified", "etag")
TABLES = """
CREATE TABLE capture (id INTEGER PRIMARY KEY, url TEXT, at TEXT, lasts REAL, host TEXT, facts TEXT,
    identity TEXT, record_id TEXT, label TEXT, keys TEXT, method TEXT, body TEXT,
    is_revisit INTEGER, is_not_modified INTEGER, about TEXT, holder INTEGER);
CREATE INDEX captures_by_url ON capture (url, is_revisit, at);
CREATE INDEX captures_by_identity ON capture (identity) WHERE NOT is_revisit;
CREATE TABLE digest (key TEXT, is_stated INTEGER, capture INTEGER, PRIMARY KEY (key, is_stated))
    WITHOUT ROWID;
"""
ADD = """
INSERT INTO capture (url, at, lasts, host, facts, identity, record_id, label, keys, method, body,
    is_revisit, is_not_modified, about)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
#: Of several answers for a URL, the latest becomes the page. A "not modified" answer refers to the
#: one before it, and answers to other methods are pages only if there are no others. A note is no
#: page.
PAGE = """
CREATE TABLE page AS
SELECT c.id AS capture, c.url, dense_rank() OVER (ORDER BY first) AS id FROM (
    SELECT c.id, c.url, min(c.id) OVER (PARTITION BY c.url) AS first, row_number() OVER (
        PARTITION BY c.url ORDER BY c.method <> '', c.is_not_modified, c.at DESC, c.id DESC
    ) AS place FROM capture c WHERE about IS NULL
) c WHERE place = 1
"""
PAGES = """
SELECT p.id, c.url, c.at, c.host, c.facts, min(CASE WHEN c.facts ->> '$.digest' <> ''
    THEN p.id END) OVER (PARTITION BY c.facts ->> '$.digest')
FROM page p JOIN capture c ON c.id = p.capture ORDER BY p.id
"""
#: a note about no page is added to the first page
FURTHER = """
SELECT coalesce(p.id, 1), c.at, c.facts, c.method, c.body, iif(c.about IS NULL, '', c.url)
FROM capture c LEFT JOIN page p ON p.url = coalesce(c.about, c.url)
WHERE c.about IS NOT NULL OR c.id <> p.capture OR c.method <> '' ORDER BY c.id
"""
NOTES = "SELECT count(*) FROM capture WHERE about IS NOT NULL"
HOSTS = """
SELECT c.host, count(*) FROM page p JOIN capture c ON c.id = p.capture
GROUP BY c.host ORDER BY min(p.id)
"""
#: the most candidates that are examined for one reference
MOST_LOOKED_AT = 8


#: number, URL, time, host, facts, and the number of the first page with the same content
PageRow: TypeAlias = tuple[int, str, str, str, dict[str, Any], int | None]


@dataclass(frozen=True)
class Holder:
    """A capture with the payload to which another capture refers."""

    id: int
    url: str
    at: datetime
    record_id: str
    label: str
    facts: dict[str, Any]

    @property
    def original(self) -> Original:
        return Original(self.record_id, self.url, self.at)


class FurtherFacts(NamedTuple):
    """The facts of a record that belongs to no page."""

    #: the number of its URL's page
    page: int
    #: the time, as `moments` write it
    at: str
    #: by the names of columns
    facts: dict[str, Any]
    #: the method and the body of the request
    method: str
    body: str
    #: for a note its own address, otherwise empty
    target: str


class Captures:
    """Collects the captures one by one, until `choose_pages`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "captures.sqlite"
        self._rows = sqlite3.connect(self._path)
        self._rows.execute("PRAGMA synchronous = off")
        self._rows.executescript(TABLES)

    def add(
        self,
        answer: ForeignAnswer,
        asked: AskedBy,
        facts: Mapping[str, Any],
        label: str,
    ) -> int:
        """Add an answer. Return its number. label: the digest of the payload, as it is stated in
        the copy.
        """
        is_revisit = answer.kind == "revisit"
        row = (
            *(answer.address.url, _time_as_text(answer.at.at), answer.at.lasts.total_seconds()),
            *(answer.address.host_key, json.dumps(facts), id_key(answer.stated_id)),
            *(answer.record_id, label, " ".join(answer.digests), asked.method, asked.body),
            *(is_revisit, answer.is_not_modified or answer.status == NOT_MODIFIED_STATUS),
            answer.about,
        )
        added = self._rows.execute(ADD, row)
        number = int(added.lastrowid or 0)
        if not is_revisit:
            stated = digest_spellings(answer.digest.rpartition(":")[2])
            told = [(key, 0, number) for key in answer.digests] + [
                (key, 1, number) for key in stated
            ]
            self._rows.executemany("INSERT OR IGNORE INTO digest VALUES (?, ?, ?)", told)
        return number

    def settle(self, number: int, facts: Mapping[str, Any], holder: Holder | None) -> None:
        """Set the places of the payload and the record of a revisit."""
        values = json.dumps(facts), holder and holder.id, number
        self._rows.execute("UPDATE capture SET facts = ?, holder = ? WHERE id = ?", values)

    def holder_of(self, answer: ForeignAnswer) -> Holder | None:
        """The capture to which a revisit record refers, by the facts that it states: identity, URL
        and date, digest. For a record that states only a URL, the latest earlier capture of that
        URL.
        """
        digests = digest_spellings(answer.digest.rpartition(":")[2]) - EMPTY
        said = answer.reference or Reference("", "", None)
        url = said.url or answer.address.url
        named = self._ids_of_record(said.record_id)
        dated = self._captures_at(url, said.at) if said.at else []
        found = next(
            (one for one in (*named, *dated) if self._may_have_digests(one, digests)), None
        )
        found = found or self._capture_with_digest(digests) or next(iter(named), None)
        if found is None and not digests:
            found = next(iter(dated), None) or self._nearest_capture(url, answer.at.at)
        return self._read_holder(found) if found else None

    def _ids_of_record(self, identity: str) -> list[int]:
        query = "SELECT id FROM capture WHERE identity = ? AND NOT is_revisit LIMIT ?"
        return self._select_ids(query, id_key(identity), MOST_LOOKED_AT) if identity else []

    def _captures_at(self, url: str, at: Moment) -> list[int]:
        """The captures whose times are compatible with a date. Either of the two may be more
        precise.
        """
        behind = _time_as_text(at.at), _time_as_text(_later_time(at.at, at.lasts))
        query = (
            "SELECT id FROM capture WHERE url = ? AND NOT is_revisit AND at >= ? AND at < ? "
            "ORDER BY at LIMIT ?"
        )
        found = self._select_ids(query, url, *behind, MOST_LOOKED_AT)
        query = (
            "SELECT id FROM capture WHERE url = ? AND NOT is_revisit AND at < ? AND "
            "unixepoch(at) + lasts > unixepoch(?) ORDER BY at DESC LIMIT ?"
        )
        before = _time_as_text(at.at), _time_as_text(at.at), MOST_LOOKED_AT
        return found + self._select_ids(query, url, *before)

    def _nearest_capture(self, url: str, at: datetime) -> int | None:
        for order in ("<= ? ORDER BY at DESC", "> ? ORDER BY at"):
            query = (
                f"SELECT id FROM capture WHERE url = ? AND NOT is_revisit AND at {order} LIMIT 1"  # noqa: S608
            )
            if found := self._select_ids(query, url, _time_as_text(at)):
                return found[0]
        return None

    def _capture_with_digest(self, digests: Iterable[str]) -> int | None:
        query = "SELECT capture FROM digest WHERE key = ? ORDER BY is_stated LIMIT 1"
        found = (self._select_ids(query, digest) for digest in sorted(digests))
        return next((ids[0] for ids in found if ids), None)

    def _may_have_digests(self, number: int, digests: set[str]) -> bool:
        """Whether the payload of this capture can have these digests."""
        if not any(len(digest) in CALCULATED for digest in digests):
            return True
        row = self._rows.execute("SELECT keys FROM capture WHERE id = ?", [number]).fetchone()
        if digests & set(row[0].split()):
            return True
        stated = "SELECT capture FROM digest WHERE key = ? AND is_stated"
        return any(number in self._select_ids(stated, digest) for digest in digests)

    def _read_holder(self, number: int) -> Holder:
        query = "SELECT id, url, at, record_id, label, facts FROM capture WHERE id = ?"
        pk, url, at, record_id, label, facts = self._rows.execute(query, [number]).fetchone()
        return Holder(pk, url, datetime.fromisoformat(at), record_id, label, json.loads(facts))

    def _select_ids(self, query: str, *values: object) -> list[int]:
        return [pk for (pk,) in self._rows.execute(query, values)]

    def forget(self, number: int) -> None:
        self._rows.execute("DELETE FROM capture WHERE id = ?", [number])

    def choose_pages(self) -> None:
        self._rows.execute(PAGE)
        self._rows.execute("CREATE UNIQUE INDEX page_of_url ON page (url)")

    def hosts(self) -> dict[str, tuple[int, int]]:
        """For each host, a number, and the number of its pages."""
        rows = self._rows.execute(HOSTS)
        return {name: (number + 1, pages) for number, (name, pages) in enumerate(rows)}

    def pages(self) -> Iterator[PageRow]:
        for number, url, at, host, facts, original in self._rows.execute(PAGES):
            yield number, url, at, host, json.loads(facts), original

    def further_records(self) -> Iterator[FurtherFacts]:
        """The facts of the records that belong to no page."""
        for number, at, facts, method, body, target in self._rows.execute(FURTHER):
            yield FurtherFacts(number, at, json.loads(facts), method, body, target)

    def notes(self) -> int:
        return int(self._rows.execute(NOTES).fetchone()[0])

    def close(self) -> None:
        self._rows.close()
        self._path.unlink()


class WaitingRevisits:
    """Revisit records that wait until all records are read to which they may refer. They are in a
    file, since there may be millions of them.
    """

    def __init__(self, folder: Path) -> None:
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115  # `close` closes it

    def add(self, number: int, answer: ForeignAnswer, facts: Mapping[str, Any]) -> None:
        """Add a revisit. Its payload is empty and not stored."""
        # only this process reads the file
        pickle.dump((number, replace(answer, payload=BytesIO()), dict(facts)), self._file)

    def all(self) -> Iterator[tuple[int, ForeignAnswer, dict[str, Any]]]:
        end = self._file.tell()
        self._file.seek(0)
        while self._file.tell() < end:
            yield pickle.load(self._file)  # noqa: S301

    def close(self) -> None:
        self._file.close()


def _later_time(at: datetime, lasts: timedelta) -> datetime:
    try:
        return at + lasts
    except OverflowError:
        return at


def _time_as_text(at: datetime) -> str:
    return at.isoformat(timespec="microseconds")
