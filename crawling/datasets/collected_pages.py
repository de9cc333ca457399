"""The links that a crawl collects, in a file that is quick to write and that is read once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import storage
from crawling.frontier import PageLinks
from crawling.web.addresses import fingerprint
from crawling.web.documents.written_links import resolved_links

PageOfLinks = tuple[int, PageLinks]
#: the columns of the dataset
LinkRow = tuple[int, str, int, str, str, str, str, str, str, str, int]


def page_pieces(pages: Iterable[PageOfLinks]) -> Iterator[bytes]:
    """Each page as a line of JSON and the bytes whose number the line states."""
    for page_id, page in pages:
        facts = [page_id, page.url, page.base, page.charset, len(page.written)]
        yield json.dumps(facts).encode() + b"\n"
        yield page.written


def read_pages(name: str) -> Iterator[PageOfLinks]:
    """The pages in a stored file. Raises OSError or ArchiveTrouble."""
    with storage().open(name) as file:
        while line := file.readline():
            try:
                page_id, url, base, charset, length = json.loads(line)
            except ValueError as error:
                raise ArchiveTrouble(f"{name} is damaged: {error}.") from error
            yield page_id, PageLinks(url, base, charset, file.read(length))


def rows_of(page_id: int, page: PageLinks) -> Sequence[LinkRow]:
    links = resolved_links(page.written, page.url, base=page.base, charset=page.charset)
    return [
        (page_id, page.url, position, *link, fingerprint(link.target))
        for position, link in enumerate(links)
    ]
