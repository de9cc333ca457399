"""The search index follows readings of pages, and records that leave the archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from crawling.models import LinksPart

# Modules of the index are imported when they are needed: most processes never need them.


def add_texts(part: int) -> None:
    """While another process writes the index, a job does it later."""
    from crawling.uses.search.folder import IndexBusy
    from crawling.uses.search.index import add_unindexed

    try:
        add_unindexed(LinksPart.objects.filter(pk=part))
    except IndexBusy:
        return


def forget_pages(removed: Callable[[], Iterator[int]]) -> None:
    from crawling.uses.search.index import remove_texts

    remove_texts(removed)
