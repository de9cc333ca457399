"""How long a search may take before it is broken off."""

from __future__ import annotations

from crawling.errors import CrawlError

#: an unlucky search may have to read every page of the run; it is broken off rather than left to keep the server busy
SEARCH_SECONDS = 5


class SearchTookTooLong(CrawlError):
    """The search read pages for 5 seconds and was broken off; name a status, or a longer piece of the address."""
