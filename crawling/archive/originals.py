"""Finds payloads that are in the archive already (SEEDS W8): first among the SHA-256 digests in
memory, then among the pages of the run, of its crawl or of all crawls.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from crawling.archive.reader import open_record_of
from crawling.archive.records import Original, record_id, start_of_fetch
from crawling.archive.unpacker import MOST_AROUND
from crawling.base.errors import ArchiveTrouble
from crawling.frontier.sql_rows import SentRows, read_rows
from crawling.models import ArchiveFile, Page, Run, UrlState
from crawling.web.addresses import fingerprint, signed_64_bits

#: the most payloads that a shift keeps in memory; the least recently used are dropped first
MOST_REMEMBERED = 20_000
#: A revisit record for a smaller payload takes as much space as the payload itself. With usual
#: heads both have the same size at about 90 bytes of random data or 160 of text
#: (docs/decisions/0076).
LEAST_BYTES = 256

COLUMNS = """
p.url_id, p.run_id, p.archive_length, f.name, f.parts, f.namespace, p.archive_offset, u.url,
p.fetched_at, p.fetch_seconds, p.payload_sha256
"""


class PayloadPage(NamedTuple):
    """A page whose record has a payload; the fields are those of COLUMNS."""

    url_id: int
    run_id: int
    archive_length: int
    name: str
    parts: list[int]
    namespace: UUID
    archive_offset: int
    url: str
    fetched_at: datetime
    fetch_seconds: float
    #: the SHA-256 of the payload as it was encoded
    payload_sha256: bytes | None


HAS_PAYLOAD = "NOT p.is_revisit AND p.archive_file_id IS NOT NULL AND p.status < 400"
#: The index has the 64-bit fingerprint, then the run; the SHA-256 of the encoded payload confirms a
#: match. The earliest run that has the payload is taken, so that all revisits refer to one record.
#: Failed pages are left out, since their rows vanish when they are tried again. The runs are in a
#: subquery, since for a new run PostgreSQL expects no pages and would read all of them for each
#: payload.
IN_RUNS = f"""
SELECT p.* FROM crawling_page p
WHERE p.fingerprint = wanted.mark AND p.run_id = ANY(ARRAY(SELECT unnest(%(runs)s::bigint[])))
    AND {HAS_PAYLOAD}
    AND p.payload_sha256 = wanted.sha256
ORDER BY p.run_id LIMIT 1
"""  # noqa: S608  # constants
#: Also payloads of other crawls that share them. These payloads are not meant for one crawl alone;
#: they are not deleted, and no rule will delete them. Only earlier runs count, since two runs that
#: refer to each other could not be deleted. If very many payloads have one fingerprint, only some
#: are read.
IN_OTHERS = f"""
SELECT p.* FROM (
    SELECT p.* FROM crawling_page p
    WHERE p.fingerprint = wanted.mark AND p.run_id < %(run)s AND {HAS_PAYLOAD}
    ORDER BY p.run_id LIMIT 50
) p JOIN crawling_run r ON r.id = p.run_id AND r.removal_asked_at IS NULL
JOIN crawling_crawljob c ON c.id = r.crawl_id
    AND c.reuse ->> 'deduplicate' = 'all' AND c.retention = '{{}}'
WHERE p.payload_sha256 = wanted.sha256 AND NOT p.is_personal
    AND NOT p.run_id = ANY(%(runs)s) LIMIT 1
"""  # noqa: S608  # constants


class AskedPayload(NamedTuple):
    mark: int
    sha256: bytes


WANTED = SentRows("wanted", AskedPayload)
#: materialized, so that each payload is looked up once, however many rows the planner expects of
#: the other tables
SAME = f"""
WITH p AS MATERIALIZED (
    SELECT found.* FROM {WANTED} CROSS JOIN LATERAL ({{found}}) found
)
SELECT {COLUMNS} FROM p
JOIN crawling_url u ON u.id = p.url_id AND u.state = '{UrlState.SUCCEEDED}'
JOIN crawling_archivefile f ON f.id = p.archive_file_id
"""  # noqa: S608  # constants
SAME_IN_RUNS = SAME.format(found=IN_RUNS)
SAME_ANYWHERE = SAME.format(found=f"({IN_RUNS}) UNION ALL ({IN_OTHERS}) LIMIT 1")

#: the latest answer with a payload for the URL, from an earlier run of the crawl or from this run
OF_THE_URL = f"""
SELECT {COLUMNS}
FROM crawling_url u JOIN crawling_page p ON p.url_id = u.id
JOIN crawling_archivefile f ON f.id = p.archive_file_id
JOIN crawling_run r ON r.id = u.run_id JOIN crawling_run mine ON mine.crawl_id = r.crawl_id
WHERE mine.id = %s AND u.fingerprint = %s AND u.url = %s AND p.status = 200 AND NOT p.is_revisit
    AND r.removal_asked_at IS NULL
ORDER BY p.fetched_at DESC LIMIT 1
"""  # noqa: S608  # constants

OF_THE_PAGE = f"""
SELECT {COLUMNS}
FROM crawling_page p JOIN crawling_url u ON u.id = p.url_id
JOIN crawling_archivefile f ON f.id = p.archive_file_id WHERE p.url_id = %s
"""  # noqa: S608  # constants


@dataclass(frozen=True, slots=True)
class StoredPayload:
    original: Original
    #: the record's length in its file, in bytes
    length: int
    #: id of the URL to which the page belongs, if another run has it
    page: int | None = None


class Originals:
    """Used by the archive's thread alone.

    sought: the runs in which a payload counts as stored, by the order's `deduplicate`. is_alone:
    returns whether no other shift has archived for the run since this shift began.
    """

    def __init__(self, run: Run, *, sought: str, is_alone: Callable[[], bool]) -> None:
        self._run, self._sought, self._is_alone = run, sought, is_alone
        self._known: OrderedDict[bytes, StoredPayload] = OrderedDict()
        self._runs = [run.pk]
        # if a crawl has rules for keeping runs, each run stores its own payloads, so that any run
        # can be deleted
        if sought in ("crawl", "all") and not run.crawl.retention:
            earlier = Run.objects.filter(crawl=run.crawl_id, pk__lte=run.pk)
            self._runs = list(earlier.values_list("pk", flat=True))
        self._knows_all = sought == "none" or (
            sought != "all"
            and is_alone()
            and not Page.objects.filter(run__in=self._runs, archive_file__isnull=False).exists()
        )

    def look_up(self, wanted: Mapping[bytes, tuple[int, int]]) -> None:
        """Find which of these payloads are stored. wanted: fingerprint and size by SHA-256. This
        takes one query, and another for each payload that another crawl has.
        """
        self._knows_all = self._knows_all and (self._sought == "none" or self._is_alone())
        if self._knows_all:
            return
        payloads = (AskedPayload(mark, digest) for digest, (mark, _) in wanted.items())
        values = WANTED.values(payloads, run=self._run.pk, runs=self._runs)
        with connection.cursor() as cursor:
            cursor.execute(SAME_ANYWHERE if self._sought == "all" else SAME_IN_RUNS, values)
            rows = read_rows(cursor, PayloadPage)
        for row in rows:
            digest = bytes(row.payload_sha256 or b"")
            is_far = row.run_id not in self._runs
            if is_far and not _has_payload(row.url_id, digest, wanted[digest][1]):
                continue
            if found := self._payload_of_row(row):
                self._known.setdefault(digest, found)

    def get(self, digest: bytes, size: int) -> StoredPayload | None:
        """The known record of a payload of this size. None for a small payload."""
        found = self._known.get(digest) if self.seeks(size) else None
        if found:
            self._known.move_to_end(digest)
        return found

    def seeks(self, size: int) -> bool:
        """Whether a payload of this size is looked up, so that it is stored only once."""
        return size >= LEAST_BYTES and self._sought != "none"

    def add(self, digest: bytes, original: Original, length: int) -> None:
        self._known[digest] = StoredPayload(original, length)
        while len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)
            self._knows_all = False

    def of_url(self, url: str) -> StoredPayload | None:
        """The record to which the revisit record of an unrequested "not modified" answer refers."""
        return self._first_payload(OF_THE_URL, self._run.pk, signed_64_bits(fingerprint(url)), url)

    def of_page(self, page: int) -> StoredPayload | None:
        return self._first_payload(OF_THE_PAGE, page)

    def _first_payload(self, query: str, *values: int | str) -> StoredPayload | None:
        with connection.cursor() as cursor:
            cursor.execute(query, values)
            rows = read_rows(cursor, PayloadPage)
        return self._payload_of_row(rows[0]) if rows else None

    def _payload_of_row(self, row: PayloadPage) -> StoredPayload | None:
        """The record of a row. None if it belongs to another run and this machine cannot read
        it.
        """
        is_own = row.run_id == self._run.pk
        try:
            file = ArchiveFile(name=row.name, parts=row.parts)
            if not is_own and not file.is_readable_to(row.archive_offset + row.archive_length):
                return None
        except (OSError, ArchiveTrouble):
            return None
        at = start_of_fetch(row.fetched_at, row.fetch_seconds)
        original = Original(record_id(row.namespace, row.archive_offset), row.url, at)
        return StoredPayload(original, row.archive_length, None if is_own else row.url_id)


def _has_payload(page: int, digest: bytes, size: int) -> bool:
    """Whether the record of another crawl's page has this payload. The row alone is no proof, since
    it may come from another server.
    """
    try:
        stored = Page.objects.select_related("archive_file").get(pk=page)
        payload = open_record_of(stored, size + MOST_AROUND).payload
    except (OSError, ArchiveTrouble, Page.DoesNotExist):
        return False
    found = payload.sha256()
    payload.close()
    return found == digest
