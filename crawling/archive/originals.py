"""Which payloads a run has archived already (SEEDS W8): an exact memory in front, the run's pages
behind it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection

from crawling.archive.records import Original, began, record_id
from crawling.models import Page
from crawling.web.addresses import fingerprint, signed

#: payloads remembered by a shift, the least recently met forgotten first
MOST_REMEMBERED = 20_000

#: the 64-bit fingerprint is what the index has; SHA-256 of the payload as it was encoded confirms
#: it
SAME = """
SELECT p.payload_sha256, f.namespace, p.archive_offset, u.url, p.fetched_at, p.fetch_seconds
FROM crawling_page p JOIN crawling_url u ON u.id = p.url_id
JOIN crawling_archivefile f ON f.id = p.archive_file_id
WHERE p.run_id = %s AND p.fingerprint = ANY(%s) AND NOT p.is_revisit
    AND p.archive_file_id IS NOT NULL AND p.status < 400
"""

#: the latest answer with a payload that an earlier run of the crawl, or this one, has of the URL
OF_THE_URL = """
SELECT f.namespace, p.archive_offset, u.url, p.fetched_at, p.fetch_seconds
FROM crawling_url u JOIN crawling_page p ON p.url_id = u.id
JOIN crawling_archivefile f ON f.id = p.archive_file_id
JOIN crawling_run r ON r.id = u.run_id JOIN crawling_run mine ON mine.crawl_id = r.crawl_id
WHERE mine.id = %s AND u.fingerprint = %s AND u.url = %s AND p.status = 200 AND NOT p.is_revisit
    AND r.removal_asked_at IS NULL
ORDER BY p.fetched_at DESC LIMIT 1
"""


OF_THE_PAGE = """
SELECT f.namespace, p.archive_offset, u.url, p.fetched_at, p.fetch_seconds
FROM crawling_page p JOIN crawling_url u ON u.id = p.url_id
JOIN crawling_archivefile f ON f.id = p.archive_file_id WHERE p.url_id = %s
"""


class Originals:
    """Used by the archive's thread alone.

    is_alone: whether no other shift has archived for the run since this one began.
    """

    def __init__(self, run_id: int, *, is_alone: Callable[[], bool]) -> None:
        self._run_id, self._is_alone = run_id, is_alone
        self._known: OrderedDict[bytes, Original] = OrderedDict()
        self._knows_all = (
            is_alone() and not Page.objects.filter(run=run_id, archive_file__isnull=False).exists()
        )

    def look_up(self, fingerprints: Collection[int]) -> None:
        """Remember what the run has with these fingerprints, with one query at most."""
        self._knows_all = self._knows_all and self._is_alone()
        if self._knows_all:
            return
        with connection.cursor() as cursor:
            cursor.execute(SAME, [self._run_id, list(fingerprints)])
            for sha256, *row in cursor.fetchall():
                self._known.setdefault(bytes(sha256), _original(*row))

    def get(self, sha256: bytes) -> Original | None:
        found = self._known.get(sha256)
        if found:
            self._known.move_to_end(sha256)
        return found

    def add(self, sha256: bytes, original: Original) -> None:
        self._known[sha256] = original
        while len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)
            self._knows_all = False

    def of_url(self, url: str) -> Original | None:
        """What an answer that says "not modified" unasked is about."""
        return _found(OF_THE_URL, [self._run_id, signed(fingerprint(url)), url])

    def of_page(self, page: int) -> Original | None:
        """The record of a page that was asked about."""
        return _found(OF_THE_PAGE, [page])


def _found(query: str, values: Sequence[int | str]) -> Original | None:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        row = cursor.fetchone()
    return _original(*row) if row else None


def _original(
    namespace: UUID, offset: int, url: str, fetched_at: datetime, seconds: float
) -> Original:
    return Original(record_id(namespace, offset), url, began(fetched_at, seconds))
