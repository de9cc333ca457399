"""Pages of other crawls and of earlier runs that are offered to a shift's fetch threads instead of
a request (SEEDS P6, B8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from crawling.archive.earlier_answers import answer_of
from crawling.archive.reader import original_of
from crawling.models import Page
from crawling.web.fetch.http import Fetched


class ReuseOffers:
    """By id of the URL that needs it.

    The shift's own thread makes and settles offers; fetch threads take them.
    """

    def __init__(self) -> None:
        self._pages: dict[int, tuple[Page, Page]] = {}
        self._own: set[int] = set()

    def make(self, pages: Mapping[int, Page], *, of_others: bool = True) -> None:
        """Offer pages of other crawls, or of earlier runs, and look up now in whose records their
        payloads are: fetch threads ask no database.
        """
        for url_id, page in pages.items():
            self._pages[url_id] = page, original_of(page)
        if not of_others:
            self._own.update(pages)

    def take(self, url_id: int, *, archives: bool, most: int) -> Fetched | None:
        """Read what is offered for a URL from the archive; None: it has to be fetched.

        archives: the exchange is wanted, too. most: bytes that the crawl takes of one document.
        """
        pages = self._pages.get(url_id)
        found = answer_of(*pages, most) if pages else None
        return found if found is None or archives else found.without_exchange()

    def settle(self, url_ids: Iterable[int]) -> dict[int, str]:
        """Withdraw the offers for URLs that are done; returns the ids of URLs that had an offer of
        another crawl's page.
        """
        done = {
            url_id: pages[0].url.url
            for url_id in url_ids
            if (pages := self._pages.pop(url_id, None))
        }
        own, self._own = self._own & done.keys(), self._own - done.keys()
        return {url_id: url for url_id, url in done.items() if url_id not in own}
