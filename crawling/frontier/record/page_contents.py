"""Which pages have the content of one before them, exactly (SEEDS W8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db import connection
from django.db.backends.utils import CursorWrapper

from crawling.frontier.outcomes import UrlOutcome

CAPACITY = 50_000

FIND_ORIGINAL = """
SELECT url_id FROM crawling_page
WHERE run_id = %s AND fingerprint = %s AND digest = %s AND duplicate_of IS NULL
"""

FIND_ORIGINALS = """
SELECT fingerprint, digest, url_id FROM crawling_page
WHERE run_id = %s AND fingerprint = ANY(%s) AND duplicate_of IS NULL AND digest IS NOT NULL
"""


class KnownContents:
    """The originals that a shift has met, the latest CAPACITY of them: url id by SHA-256.

    Exact; it only spares queries.
    """

    def __init__(self, capacity: int | None = None) -> None:
        self._capacity = CAPACITY if capacity is None else capacity
        self._urls: dict[bytes, int] = {}

    def __getitem__(self, digest: bytes) -> int | None:
        url_id = self._urls.pop(digest, None)
        if url_id is not None:
            self._urls[digest] = url_id  # put back at the end: often copied contents stay
        return url_id

    def peek(self, digest: bytes) -> int | None:
        """The same, for any thread."""
        return self._urls.get(digest)

    def learn(self, originals: Mapping[bytes, int]) -> None:
        """Remember what a transaction that was committed found or made."""
        self._urls.update(originals)
        while len(self._urls) > self._capacity:
            del self._urls[next(iter(self._urls))]


def original_url(run_id: int, fingerprint: int, digest: bytes) -> int | None:
    """The id of the run's URL that had this content first, if a page of it is stored."""
    with connection.cursor() as cursor:
        cursor.execute(FIND_ORIGINAL, [run_id, fingerprint, digest])
        row = cursor.fetchone()
    return row and int(row[0])


def find_originals(
    cursor: CursorWrapper, run_id: int, outcomes: Sequence[UrlOutcome], known: KnownContents
) -> dict[bytes, int]:
    """Return the URL that had each content first, by SHA-256: known, stored, or the first of this
    batch.

    The caller holds the run's lock, so two shifts never take two originals for one content.
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
