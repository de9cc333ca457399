"""Pages of all crawls by a piece of their address or title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import OperationalError, connection, transaction
from django.db.models import Q

from crawling.models import Page
from crawling.run_page.pages import SEARCH_SECONDS, SearchTookTooLong

PAGES = 100
#: the index knows pieces of three characters
SHORTEST = 3
#: of a text that very many pages hold, about so many are looked at
LOOKED_AT = 5_000


@dataclass(frozen=True)
class Found:
    """The latest first; `is_more`: there are others."""

    pages: Sequence[Page]
    is_more: bool


def holds(text: str) -> Q:
    """The condition as the index `pages_by_words` is written."""
    return Q(final_url__icontains=text) | Q(title__icontains=text)


def search_pages(text: str) -> Found:
    """Pages whose address or title holds the text, in any case. One query. Raises SearchTookTooLong."""
    pages = Page.objects.filter(holds(text)).select_related("url", "run__crawl").order_by("-fetched_at", "-url_id")
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = '{SEARCH_SECONDS}s'")
            cursor.execute(f"SET LOCAL gin_fuzzy_search_limit = {LOOKED_AT}")
            found = list(pages[: PAGES + 1])
    except OperationalError as error:
        if "statement timeout" not in str(error):
            raise
        raise SearchTookTooLong from error
    return Found(found[:PAGES], len(found) > PAGES)
