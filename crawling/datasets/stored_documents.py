"""Documents of a run from the archive, for a second reading. Only background jobs and commands call
this, since the readers parse foreign documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import turbohtml
from django.db.models import QuerySet

from crawling.archive.decoded_documents import decoded_stream
from crawling.archive.reader import open_record_of, page_with_content, rendition_of
from crawling.archive.unpacker import MOST_AROUND
from crawling.base.errors import ArchiveTrouble
from crawling.models import Page, Run
from crawling.orders.claims import MOST_DOCUMENT_BYTES
from crawling.web.documents.base import DocumentSource, ReadingRules
from crawling.web.documents.css_selectors import SelectorTookTooLong, check_cost, read_selector
from crawling.web.documents.extraction import extract
from crawling.web.documents.html import TYPES, base_of
from crawling.web.documents.tree import parse_html
from crawling.web.http_caching import read_head
from crawling.web.links import Links
from crawling.web.statuses import DOCUMENT_STATUSES


@contextmanager
def stored_document(run: Run, page: Page) -> Iterator[DocumentSource]:
    """A page's document, as a browser made it if one rendered the page. Raises ArchiveTrouble."""
    rendition = rendition_of(page, "dom")
    stored = rendition or _page_with_record(page)
    record = open_record_of(stored, MOST_DOCUMENT_BYTES + MOST_AROUND)
    coding = read_head(record.head).get("content-encoding", "")
    body = decoded_stream(record.payload, coding, MOST_DOCUMENT_BYTES)
    rules = ReadingRules(run.crawl.obey_nofollow, run.crawl.requisites)
    try:
        charset = (rendition or page).charset or None
        yield DocumentSource(body, page.url.url, page.content_type, charset, rules)
    finally:
        body.close()
        record.payload.close()


def stored_location(page: Page) -> str:
    """The target of a page's redirect, as written; "" if the archive does not have it."""
    try:
        record = open_record_of(_page_with_record(page), MOST_DOCUMENT_BYTES + MOST_AROUND)
    except ArchiveTrouble:
        return ""
    record.payload.close()
    return read_head(record.head).get("location", "")


def html_pages(run: Run) -> QuerySet[Page]:
    """The pages of a run on which rules can be tried, with their URLs and archive files."""
    found = Page.objects.filter(
        run=run, status__in=DOCUMENT_STATUSES, bytes__gt=0, content_type__in=TYPES
    )
    return found.select_related("url", "archive_file", "run")


def extract_from_page(run: Run, page: Page, rules: Mapping[str, str]) -> list[tuple[str, str]]:
    """Matches of extraction rules on a stored HTML page, the same as the crawl would find. rules:
    CSS selectors by name. Raises ArchiveTrouble, also if a rule would take too long.
    """
    return extract_from_tree(page, stored_tree(run, page), rules)


def stored_tree(run: Run, page: Page) -> turbohtml.Document:
    """The tree of a stored HTML page. Raises ArchiveTrouble."""
    with stored_document(run, page) as source:
        return parse_html(source.body, source.charset).document


def extract_from_tree(
    page: Page, document: turbohtml.Document, rules: Mapping[str, str]
) -> list[tuple[str, str]]:
    """The matches in a page's tree, as in `extract_from_page`."""
    try:
        for rule in rules.values():
            check_cost(document, read_selector(rule)[0])
    except SelectorTookTooLong as error:
        raise ArchiveTrouble(str(error)) from error
    links = Links(page.url.url, charset=page.charset, base=base_of(document))
    return extract(document, rules, links.whole)


def _page_with_record(page: Page) -> Page:
    """The page whose record has the document."""
    if page.archive_file is None and page.reused_from:
        stored = Page.objects.select_related("url", "archive_file", "run")
        page = stored.filter(pk=page.reused_from).first() or page
    return page_with_content(page)
