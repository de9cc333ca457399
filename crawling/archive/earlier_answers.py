"""What earlier runs of a crawl have archived of the URLs that this one is about to fetch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from django.db import connection

from crawling.archive.reader import original_of, record_of
from crawling.archive.unpacker import decoded
from crawling.errors import ArchiveTrouble
from crawling.models import Page, Run
from crawling.web.http_caching.revalidation import questions, read_head

#: of each URL the latest answer that was a document, or said that there is no newer one
LATEST = """
SELECT mine.id, latest.url_id
FROM crawling_url mine CROSS JOIN LATERAL (
    SELECT p.url_id FROM crawling_run r
    JOIN crawling_url u ON u.run_id = r.id AND u.fingerprint = mine.fingerprint AND u.url = mine.url
    JOIN crawling_page p ON p.url_id = u.id
    WHERE r.crawl_id = %(crawl)s AND r.number < %(number)s AND r.removal_asked_at IS NULL
      AND p.archive_file_id IS NOT NULL AND p.digest IS NOT NULL
      AND (p.status = 200 OR p.unchanged_since IS NOT NULL)
          AND (p.etag <> '' OR p.last_modified IS NOT NULL)
    ORDER BY r.number DESC LIMIT 1
) latest
WHERE mine.id = ANY(%(urls)s)
"""


@dataclass(frozen=True, slots=True)
class EarlierAnswer:
    """An earlier answer.

    `original` is the page in whose record the payload is; `digest` that of the document.
    """

    original: Page
    digest: bytes
    etag: str
    last_modified: datetime | None

    @property
    def questions(self) -> dict[str, str]:
        return questions(self.etag, self.last_modified)


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """An earlier document itself, read again. `page` is the id of the page that has it."""

    page: int
    headers: Mapping[str, str]
    body: bytes


def earlier_answers(run: Run, url_ids: Collection[int]) -> dict[int, EarlierAnswer]:
    """Of those of the run's URLs that may be asked for by "if it has changed", what an earlier run
    has, by the URL's id.
    """
    if run.number == 1 or not url_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(LATEST, {"crawl": run.crawl_id, "number": run.number, "urls": list(url_ids)})
        latest = dict(cursor.fetchall())
    stored = Page.objects.select_related("archive_file", "url", "run")
    pages = stored.in_bulk(latest.values())
    originals = stored.in_bulk(
        {page.unchanged_since for page in pages.values() if page.unchanged_since}
    )
    return {
        mine: _earlier(page, originals) for mine, its in latest.items() if (page := pages.get(its))
    }


def _earlier(page: Page, originals: Mapping[int, Page]) -> EarlierAnswer:
    original = originals.get(page.unchanged_since or 0) or original_of(page)
    return EarlierAnswer(original, bytes(page.digest or b""), page.etag, page.last_modified)


def stored_document(earlier: EarlierAnswer) -> StoredDocument | None:
    """Read the earlier document again; None if this machine does not have it, or has another.

    Only what can be read again may be asked for by "if it has changed": the answer "no" brings
    neither text nor links.
    """
    try:
        record = record_of(earlier.original)
    except ArchiveTrouble:
        return None
    headers = read_head(record.head)
    body = decoded(record.payload, headers.get("content-encoding", ""))
    return (
        StoredDocument(earlier.original.pk, headers, body)
        if sha256(body).digest() == earlier.digest
        else None
    )
