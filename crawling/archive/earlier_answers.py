"""Answers taken out of the archive again: those of earlier runs, which are fetched anew only if
they have changed, and those that serve another crawl as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from io import BytesIO

from django.db import connection
from requests.structures import CaseInsensitiveDict

from crawling.archive.reader import following_record, original_of, record_of
from crawling.archive.unpacker import MOST_SHOWN, decoded
from crawling.errors import ArchiveTrouble
from crawling.models import Page, Run
from crawling.web.exchanges import Exchange
from crawling.web.fetch.http import Fetched, ReusedAnswer
from crawling.web.http_caching.freshness import may_be_reused
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
    """An earlier answer."""

    #: the page whose record has the payload
    original: Page
    #: the document's
    digest: bytes
    etag: str
    last_modified: datetime | None

    @property
    def questions(self) -> dict[str, str]:
        return questions(self.etag, self.last_modified)


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """An earlier document itself, read again."""

    #: id of the page that has it
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


def answer_of(page: Page, original: Page) -> Fetched | None:
    """The answer that a page was, byte by byte; None: it may not serve another crawl, or the
    archive has it no more.

    original: the page in whose record the payload is. What does not have the digest of the page is
    not handed out.
    """
    try:
        stored, request = record_of(page), following_record(page)
        payload = stored.payload if original.pk == page.pk else record_of(original).payload
    except ArchiveTrouble:
        return None
    lines = [line.partition(":") for line in stored.head.splitlines()[1:] if ":" in line]
    headers = CaseInsensitiveDict({name.strip(): value.strip() for name, _, value in lines})
    body = decoded(payload, headers.get("Content-Encoding", ""))
    is_whole = len(body) < MOST_SHOWN and sha256(body).digest() == bytes(page.digest or b"")
    if not is_whole or not may_be_reused(headers, request):
        return None
    return Fetched(
        page.status,
        headers,
        body,
        page.fetch_seconds,
        http_status=page.status,
        exchange=Exchange(request, stored.head.encode("latin-1"), BytesIO(payload)),
        reused=ReusedAnswer(page.pk, page.address, page.fetched_at),
    )
