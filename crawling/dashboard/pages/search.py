"""Pages of all crawls by a piece of their address or title."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from crawling.models import Page
from crawling.timed import time_limit

PAGES = 100
#: the index has trigrams
SHORTEST = 3
#: of a text that very many pages hold, so many are looked at, whichever are found first
LOOKED_AT = 2_000


@dataclass(frozen=True)
class PageSearchResult:
    """The pages found, the latest first."""

    pages: Sequence[Page]
    #: there are others
    is_more: bool
    #: so many that these may not be the latest of all
    is_common: bool = False


def holds(text: str) -> Q:
    """The condition as the index `pages_by_words` is written."""
    return Q(final_url__icontains=text) | Q(title__icontains=text)


def search_pages(text: str) -> PageSearchResult:
    """Pages whose address or title holds the text, in any case.

    Two queries. Raises SearchTookTooLong.
    """
    with time_limit():
        # In no order: to sort all pages that hold "html" would mean to read them all.
        ids = list(
            Page.objects.filter(holds(text))
            .order_by()
            .values_list("pk", flat=True)[: LOOKED_AT + 1]
        )
        pages = (
            Page.objects.filter(pk__in=ids, run__removal_asked_at=None)
            .select_related("url", "run__crawl")
            .order_by("-fetched_at", "-url_id")
        )
        found = list(pages[:PAGES])
    return PageSearchResult(found, is_more=len(ids) > PAGES, is_common=len(ids) > LOOKED_AT)
