"""Pages as rows of facts, for programs and for files."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from crawling.models import Page
from crawling.orders.ranking import Order, Ranking
from crawling.orders.sections.ordering import OrderingPart

#: what is known of an answered fetch (SEEDS B6), in the order of the columns
FACTS: dict[str, Callable[[Page], Any]] = {
    "id": attrgetter("pk"),
    "url": attrgetter("url.url"),
    **{
        name: attrgetter(name)
        for name in ("final_url", "status", "content_type", "bytes", "charset", "title")
    },
    "depth": attrgetter("url.depth"),
    **{name: attrgetter(name) for name in ("fetched_at", "fetch_seconds", "address")},
    "warc_file": lambda page: page.archive_file.name if page.archive_file else None,
    "warc_offset": attrgetter("archive_offset"),
    "fingerprint": lambda page: f"{page.fingerprint & (1 << 64) - 1:016x}",
    **{
        name: attrgetter(name)
        for name in (
            "duplicate_of",
            "canonical",
            "author",
            "description",
            "abstract",
            "language",
            "links",
        )
    },
    **{name: attrgetter(name) for name in ("needs_browser", "unread")},
    **{
        name: attrgetter(name)
        for name in ("last_modified", "expires_at", "etag", "unchanged_since", "payload_from")
    },
    **{
        name: attrgetter(f"url.{name}")
        for name in ("via", "rank", "backlinks", "credit", "attempts")
    },
    "weight": lambda page: weight_of(page),
}


def weight_of(page: Page) -> float:
    """SEEDS B4's I(P) with the weights of the crawl's order, whatever its order of visits."""
    part = OrderingPart.model_validate(page.run.crawl.ordering)
    ranking = Ranking(Order.BEST_FIRST, part.links_weight, part.url_weight, part.importance)
    return ranking.weight(page.url.url, page.url.backlinks or 0)


def row_of(page: Page) -> dict[str, Any]:
    """Everything that is known of it, by name."""
    return {name: fact(page) for name, fact in FACTS.items()}
