"""Stored pages as examples. A URL in a focused crawl's topic means the text of the page that any
run last stored there.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from crawling.base.errors import ArchiveTrouble
from crawling.datasets.stored_documents import stored_document
from crawling.models import Page
from crawling.orders.sections.ordering import example_urls
from crawling.web.addresses import BadUrl, fingerprints, read_address
from crawling.web.documents.html import TYPES
from crawling.web.documents.registry import read_document
from crawling.web.topics import MOST_TEXT

#: Run by run, so that PostgreSQL descends once for each run into the index of its fingerprints. A
#: page that a crawl got by its login or headers is used for that crawl only.
FIND = """
SELECT p.url_id FROM crawling_run r CROSS JOIN LATERAL (
    SELECT id, url FROM crawling_url WHERE run_id = r.id AND fingerprint = ANY(%s)
) AS u JOIN crawling_page p ON p.url_id = u.id
WHERE u.url = %s AND r.removal_asked_at IS NULL AND p.status IN (200, 304) AND p.bytes > 0
    AND p.content_type = ANY(%s) AND p.archive_file_id IS NOT NULL
    AND (NOT p.is_personal OR r.crawl_id = %s)
ORDER BY p.fetched_at DESC LIMIT 1
"""


def missing_examples(lines: Sequence[str], *, crawl_id: int | None = None) -> list[str]:
    """The URLs in a topic for which no HTML page is stored that the crawl may use."""
    return [url for url in example_urls(lines) if _find_stored_page(url, crawl_id) is None]


def examples_with_texts(lines: Sequence[str], crawl_id: int) -> tuple[list[str], dict[str, str]]:
    """The lines of a topic, with URLs replaced by the texts of their pages, and by URL the reasons
    why pages cannot be read. The lines of unreadable pages are left out.

    Reads and parses up to MOST_EXAMPLES documents, so only shifts call it, not the web process.
    """
    urls, texts = set(example_urls(lines)), []
    troubles: dict[str, str] = {}
    for line in lines:
        try:
            texts.append(_text_at(line, crawl_id) if line in urls else line)
        except ArchiveTrouble as trouble:
            troubles[line] = str(trouble)
    return texts, troubles


def _text_at(url: str, crawl_id: int) -> str:
    page = _find_stored_page(url, crawl_id)
    if page is None:
        raise ArchiveTrouble("No HTML page is stored there any more.")
    with stored_document(page.run, page) as source:
        document = read_document(source)
    return f"{document.title}\n{document.text}"[:MOST_TEXT]


def _find_stored_page(url: str, crawl_id: int | None) -> Page | None:
    try:
        canonical = read_address(url).url
    except BadUrl:
        return None
    with connection.cursor() as cursor:
        cursor.execute(FIND, [fingerprints(canonical), canonical, list(TYPES), crawl_id])
        found = cursor.fetchone()
    pages = Page.objects.select_related("url", "archive_file", "run__crawl")
    return pages.filter(pk=found[0]).first() if found else None
