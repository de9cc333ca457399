"""Take an answer out of the archive as if it had just been fetched, for another crawl."""

from __future__ import annotations

from hashlib import sha256
from io import BytesIO

from requests.structures import CaseInsensitiveDict

from crawling.archive.reader import following_record, record_of
from crawling.archive.unpacker import MOST_SHOWN, decoded
from crawling.errors import ArchiveTrouble
from crawling.models import Page
from crawling.web.exchanges import Exchange
from crawling.web.fetch.http import Fetched, ReusedAnswer
from crawling.web.http_caching.reuse import may_be_reused


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
