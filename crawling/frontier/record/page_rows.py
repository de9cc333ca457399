"""The rows of answers: an answer's page, its extracted values, and an exact decision which pages
have the content of an earlier page (SEEDS W8).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.base.errors import ArchiveTrouble
from crawling.frontier.run_lock import locked_run
from crawling.frontier.sql_rows import SentRows, insert_rows
from crawling.frontier.types import (
    ArchiveLocation,
    CapturedExchange,
    RenderingOutcome,
    UrlOutcome,
)
from crawling.machine.eviction import forget_oldest
from crawling.models import ExtractedRow, Page, Shift

CAPACITY = 50_000

FIND_ORIGINAL = """
SELECT url_id FROM crawling_page
WHERE run_id = %s AND fingerprint = %s AND digest = %s AND duplicate_of IS NULL
"""

#: The run is in a subquery: for a new run PostgreSQL expects no pages, and would read all of them
#: instead of looking for these fingerprints.
FIND_ORIGINALS = """
SELECT fingerprint, digest, url_id FROM crawling_page
WHERE run_id = (SELECT %s::bigint) AND fingerprint = ANY(%s) AND duplicate_of IS NULL
    AND digest IS NOT NULL
"""


def as_text(value: str) -> str:
    """A server's text as PostgreSQL can store it: without NUL and without lone surrogates."""
    return (
        value
        if value.isascii() and "\0" not in value
        else value.replace("\0", "").encode(errors="replace").decode()
    )


def store_extracted(run_id: int, outcomes: Sequence[UrlOutcome]) -> None:
    rows = [
        (outcome.url_id, *row)
        for outcome in outcomes
        if outcome.answer
        for row in outcome.answer.summary.extracted
    ]
    insert_rows(
        ExtractedRow,
        [
            {"run_id": run_id, "url_id": url, "name": name, "value": as_text(value)}
            for url, name, value in rows
        ],
    )


def replace_extracted(run_id: int, extracted: Mapping[int, Sequence[tuple[str, str]]]) -> int:
    """Replace the extracted values, as (name, value), of pages, by the pages' ids. Pages that were
    withdrawn meanwhile get none. Return the number of rows.

    The caller's transaction must be short. Raises Run.DoesNotExist if the run was deleted.
    """
    with locked_run(run_id):
        stored = Page.objects.filter(run=run_id, pk__in=list(extracted))
        present = list(stored.values_list("pk", flat=True))
        ExtractedRow.objects.filter(run=run_id, url__in=present).delete()
        rows = [
            {"run_id": run_id, "url_id": page, "name": name, "value": as_text(value)}
            for page in present
            for name, value in extracted[page]
        ]
        insert_rows(ExtractedRow, rows)
    return len(rows)


def page_row(
    run_id: int,
    outcome: UrlOutcome,
    originals: Mapping[bytes, int],
    *,
    links_part: int | None = None,
) -> dict[str, object]:
    answer = outcome.answer
    assert answer is not None
    summary = answer.summary
    original = originals.get(answer.digest, outcome.url_id)
    return {
        "url_id": outcome.url_id,
        "run_id": run_id,
        "status": answer.status,
        "final_url": answer.final_url,
        "content_type": as_text(answer.content_type),
        "charset": as_text(summary.charset),
        "title": as_text(summary.title),
        "bytes": answer.bytes,
        "fingerprint": answer.fingerprint,
        "address": answer.address,
        "fetch_seconds": answer.fetch_seconds,
        "fetched_at": answer.fetched_at,
        **_archive_columns(outcome.captured.place if outcome.captured else None),
        "digest": answer.digest or None,
        "duplicate_of": original if original != outcome.url_id else None,
        "simhash": answer.text.simhash,
        "canonical": summary.canonical,
        "author": as_text(summary.author),
        "description": as_text(summary.description),
        "abstract": as_text(answer.text.abstract),
        "language": as_text(summary.language),
        "links": summary.links,
        "needs_browser": summary.needs_browser,
        "rendering": answer.rendered.verdict if answer.rendered else None,
        "rendition": _rendition_json(outcome.captured, answer.rendered),
        "unread": summary.unread,
        "last_modified": answer.last_modified,
        "expires_at": answer.expires_at,
        "etag": as_text(answer.etag),
        "unchanged_since": answer.unchanged_since,
        "reused_from": answer.reused_from,
        "is_personal": answer.is_personal,
        "links_part": links_part,
    }


def _rendition_json(captured: CapturedExchange | None, page: RenderingOutcome | None) -> str | None:
    """The renditions of the page and the browser's notes, as JSON. Records in another file than the
    page's, which was full, are left out.
    """
    if page is None or page.facts is None:
        return None
    own = captured.place if captured else None
    places = {kind: one.place for kind, one in (captured.derived if captured else {}).items()}
    records = {
        kind: [place.offset, place.length]
        for kind, place in places.items()
        if own and place and place.file_id == own.file_id
    }
    return json.dumps({**page.facts, "records": records})


def _archive_columns(place: ArchiveLocation | None) -> dict[str, object]:
    return {
        "archive_file_id": place.file_id if place else None,
        "archive_offset": place.offset if place else None,
        "archive_length": place.length if place else None,
        "payload_sha256": place.payload_sha256 if place else None,
        "is_revisit": place is not None and place.is_revisit,
        "payload_from": place.payload_from if place else None,
    }


class FileLength(NamedTuple):
    id: int
    length: int


WRITTEN = SentRows("written", FileLength)
COMMIT_LENGTHS = f"""
UPDATE crawling_archivefile f SET committed_length = greatest(f.committed_length, written.length)
FROM {WRITTEN} WHERE f.id = written.id AND f.sealed_at IS NULL
"""  # noqa: S608  # constants


def commit_lengths(lengths: Mapping[int, int]) -> None:
    """Commit the length of each file, by its id.

    The caller's transaction writes the rows of all records up to that length. Raises ArchiveTrouble
    if a file was given up meanwhile, as its machine was said to be lost.
    """
    if lengths:
        with connection.cursor() as cursor:
            cursor.execute(COMMIT_LENGTHS, WRITTEN.values(starmap(FileLength, lengths.items())))
            if cursor.rowcount < len(lengths):
                raise ArchiveTrouble("An archive file of this work session was given up.")


def commit_lengths_alone(shift: Shift, lengths: Mapping[int, int]) -> None:
    """Commit the lengths of files that have records without rows, such as robots.txt.

    For a closed shift nothing is written, and its further records in the file have no row.
    """
    with locked_run(shift.process.run_id):
        if Shift.objects.filter(pk=shift.pk, ended_at=None).exists():
            commit_lengths(lengths)


class KnownContents:
    """The latest CAPACITY originals that a shift has met: URL id by SHA-256.

    Exact. It only saves queries.
    """

    def __init__(self, capacity: int | None = None) -> None:
        self._capacity = CAPACITY if capacity is None else capacity
        self._urls: dict[bytes, int] = {}

    def __getitem__(self, digest: bytes) -> int | None:
        url_id = self._urls.pop(digest, None)
        if url_id is not None:
            self._urls[digest] = url_id  # moved to the end, so that contents with many copies stay
        return url_id

    def known_url(self, digest: bytes) -> int | None:
        """The known URL with this content. May be called by any thread."""
        return self._urls.get(digest)

    def learn(self, originals: Mapping[bytes, int]) -> None:
        """Remember the originals that a committed transaction found or created."""
        self._urls.update(originals)
        forget_oldest(self._urls, self._capacity)


def original_url(run_id: int, fingerprint: int, digest: bytes) -> int | None:
    """The id of the run's URL that had this content first, if a page of it is stored."""
    with connection.cursor() as cursor:
        cursor.execute(FIND_ORIGINAL, [run_id, fingerprint, digest])
        row = cursor.fetchone()
    return row and int(row[0])


def find_originals(
    cursor: CursorWrapper, run_id: int, outcomes: Sequence[UrlOutcome], known: KnownContents
) -> dict[bytes, int]:
    """Return the first URL with each content, by SHA-256: a remembered, a stored, or the first one
    of this batch.

    The caller holds the run's lock, so two shifts never choose different originals for one content.
    """
    answers = [
        (outcome.url_id, outcome.answer)
        for outcome in outcomes
        if outcome.answer and outcome.answer.digest
    ]
    originals = {
        answer.digest: url_id
        for _, answer in answers
        if (url_id := known[answer.digest]) is not None
    }
    asked = {answer.fingerprint for _, answer in answers if answer.digest not in originals}
    if asked:
        cursor.execute(FIND_ORIGINALS, [run_id, list(asked)])
        originals.update((bytes(digest), url_id) for _, digest, url_id in cursor.fetchall())
    for url_id, answer in answers:
        originals.setdefault(answer.digest, url_id)
    return originals
