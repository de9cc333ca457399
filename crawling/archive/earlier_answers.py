"""Reads stored answers again. Answers of earlier runs are fetched again only if they have changed;
other answers are used unchanged by another crawl.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from requests.structures import CaseInsensitiveDict

from crawling.archive.decoded_documents import decoded_stream
from crawling.archive.reader import (
    following_record,
    open_record_of,
    original_of,
    originals_of,
)
from crawling.archive.unpacker import MOST_AROUND, OpenRecord
from crawling.base.errors import ArchiveTrouble
from crawling.models import Page, Run
from crawling.web.addresses import fingerprints
from crawling.web.document_stream import DocumentStream
from crawling.web.exchanges import Exchange
from crawling.web.fetch.http import Fetched, ReusedAnswer
from crawling.web.http_caching import condition_headers, may_be_reused, read_head

#: for each URL, the latest answer that was a document or confirmed an earlier one
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
    #: the page whose record has the payload
    original: Page
    #: the SHA-256 of the document
    digest: bytes
    etag: str
    last_modified: datetime | None

    @property
    def condition_headers(self) -> dict[str, str]:
        return condition_headers(self.etag, self.last_modified)


@dataclass(frozen=True, slots=True)
class StoredDocument:
    #: id of the page that has this answer
    page: int
    headers: Mapping[str, str]
    #: the receiver of the answer closes this stream
    body: DocumentStream


def earlier_answers(run: Run, url_ids: Collection[int]) -> dict[int, EarlierAnswer]:
    """The earlier answers of the run's URLs, by the URL's id, for conditional requests."""
    if run.number == 1 or not url_ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(LATEST, {"crawl": run.crawl_id, "number": run.number, "urls": list(url_ids)})
        latest = dict(cursor.fetchall())
    stored = Page.objects.select_related("archive_file", "url", "run")
    pages = stored.in_bulk(latest.values())
    confirmed = {page.unchanged_since for page in pages.values() if page.unchanged_since}
    originals = stored.in_bulk(confirmed) if confirmed else {}
    held = originals_of([page for page in pages.values() if page.unchanged_since not in originals])
    return {
        mine: _earlier_answer(page, originals.get(page.unchanged_since or 0) or held[page.pk])
        for mine, its in latest.items()
        if (page := pages.get(its))
    }


def _earlier_answer(page: Page, original: Page) -> EarlierAnswer:
    return EarlierAnswer(original, bytes(page.digest or b""), page.etag, page.last_modified)


def stored_document(earlier: EarlierAnswer, most: int) -> StoredDocument | None:
    """Read the earlier document again. None if this machine does not have it, if its digest
    differs, or if it has more than `most` bytes.

    A conditional request is sent only with a readable earlier answer, since the reply "not
    modified" has neither text nor links.
    """
    page = earlier.original
    if page.bytes > most:
        return None
    try:
        record = open_record_of(page, most + MOST_AROUND)
    except ArchiveTrouble:
        return None
    headers = read_head(record.head)
    body = _document(record, headers.get("content-encoding", ""), most)
    if body.sha256() == earlier.digest:
        return StoredDocument(page.pk, headers, body)
    body.close()
    return None


def answer_in_run(run_id: int, url: str, most: int) -> StoredDocument | None:
    """The document that this run has fetched from a URL. None if it has none, if this machine does
    not have it, or if it has more than `most` bytes.
    """
    stored = Page.objects.select_related("archive_file", "url", "run").filter(
        url__run=run_id, url__fingerprint__in=fingerprints(url), url__url=url
    )
    page = stored.filter(status=200, archive_file__isnull=False, digest__isnull=False).first()
    return stored_document(_earlier_answer(page, original_of(page)), most) if page else None


def answer_of(page: Page, original: Page, most: int) -> Fetched | None:
    """The answer of a page, byte by byte. None if the page must not serve another crawl, has more
    than `most` bytes, or is no longer in the archive.

    original: the page whose record has the payload. A document whose digest is not that of the page
    is not returned.
    """
    if page.bytes > most:
        return None
    try:
        request, stored = following_record(page), open_record_of(page, most + MOST_AROUND)
        payload = stored.payload
        if original is not page:
            payload.close()
            payload = open_record_of(original, most + MOST_AROUND).payload
    except ArchiveTrouble:
        return None
    headers = CaseInsensitiveDict(read_head(stored.head))
    body = decoded_stream(payload, headers.get("Content-Encoding", ""), most)
    exchange = Exchange(request, stored.head.encode("latin-1"), payload)
    found = Fetched(
        page.status,
        headers,
        body,
        page.fetch_seconds,
        http_status=page.status,
        exchange=exchange,
        reused=ReusedAnswer(page.pk, page.address, page.fetched_at),
    )
    if body.sha256() == bytes(page.digest or b"") and may_be_reused(headers, request):
        return found
    found.close()
    return None


def _document(record: OpenRecord, coding: str, most: int) -> DocumentStream:
    body = decoded_stream(record.payload, coding, most)
    record.payload.close()
    return body
