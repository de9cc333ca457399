"""The effect of rendering on a stored page: the document that a browser made of it, compared with
the one that the server sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from crawling.archive.reader import without_rendition
from crawling.datasets.seen_text import seen_text
from crawling.datasets.stored_documents import stored_document
from crawling.datasets.text_diff import DiffLine, text_diff
from crawling.models import Page, WithdrawnPage
from crawling.web.documents.registry import read_document

#: the most links that are listed
MOST_LINKS = 500


class ContentCounts(NamedTuple):
    links: int
    words: int


class RenderingDiff(NamedTuple):
    plain: ContentCounts
    rendered: ContentCounts
    #: the addresses that only the rendered page links to, at most MOST_LINKS, and their number
    new_links: Sequence[str]
    new: int
    #: the number of addresses that only the plain page links to
    lost: int
    lines: Sequence[DiffLine]


def compare_with_plain(page: Page) -> RenderingDiff:
    """The differences between the plain page (`removed`) and the rendered one (`added`). Raises
    ArchiveTrouble.

    To be called in a background job, since this parses foreign documents.
    """
    plain = without_rendition(page)
    old, new = seen_text(plain), seen_text(page)
    before, after = _link_urls(plain), _link_urls(page)
    new_links = [url for url in after if url not in before]
    return RenderingDiff(
        ContentCounts(len(before), len(old.text.split())),
        ContentCounts(len(after), len(new.text.split())),
        _remove_withdrawn(page, new_links[:MOST_LINKS]),
        len(new_links),
        len(before.keys() - after),
        text_diff(old, new),
    )


def _link_urls(page: Page) -> dict[str, None]:
    """The addresses to which a page links, each once, in its order."""
    with stored_document(page.run, page) as source:
        return dict.fromkeys(link.url for link in read_document(source).links)


def _remove_withdrawn(page: Page, urls: Sequence[str]) -> list[str]:
    rows = WithdrawnPage.objects.filter(run__crawl=page.run.crawl_id, url__url__in=urls)
    gone = set(rows.values_list("url__url", flat=True))
    return [url for url in urls if url not in gone]
