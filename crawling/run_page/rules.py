"""A crawl's filters and finer limits, as its page tells them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.template.defaultfilters import filesizeformat

from crawling.models import CrawlJob

FILTERS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "schemes": ("Schemes", ", ".join),
    "include": ("Only addresses with", ", ".join),
    "exclude": ("No addresses with", ", ".join),
    "off_site_hops": ("Links outside the scope", str),
    "types": ("Only types", ", ".join),
    "max_document_bytes": ("Largest document", filesizeformat),
}
LEVELS = {"soft": "Soft limit", "host_soft": "Soft limit on each host", "host_max": "Limit on each host"}
MEASURES: dict[str, Callable[[int], str]] = {
    "pages": lambda count: f"{count:,} pages",
    "bytes": filesizeformat,
    "seconds": lambda seconds: f"{seconds:,} s",
}


def rules_in_words(crawl: CrawlJob) -> list[tuple[str, str]]:
    """Name and words of each filter and limit that is set."""
    told = [(name, words(value)) for key, (name, words) in FILTERS.items() if (value := crawl.filters.get(key))]
    for level, name in LEVELS.items():
        limits = [words(most) for measure, words in MEASURES.items() if (most := crawl.budget.get(f"{level}_{measure}"))]
        told += [(name, ", ".join(limits))] if limits else []
    return told
