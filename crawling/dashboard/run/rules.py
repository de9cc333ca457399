"""A crawl's filters and finer limits, as its page tells them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.template.defaultfilters import filesizeformat

from crawling.models import CrawlJob
from crawling.orders.sections.thresholds import ThresholdsPart

FILTERS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "schemes": ("Schemes", ", ".join),
    "include": ("Only addresses with", ", ".join),
    "exclude": ("No addresses with", ", ".join),
    "off_site_hops": ("Links outside the scope", str),
    "types": ("Only types", ", ".join),
    "max_document_bytes": ("Largest document", filesizeformat),
}
LEVELS = {
    "soft": "Soft limit",
    "host_soft": "Soft limit on each host",
    "host_max": "Limit on each host",
}
MEASURES: dict[str, Callable[[int], str]] = {
    "pages": lambda count: f"{count:,} pages",
    "bytes": filesizeformat,
    "seconds": lambda seconds: f"{seconds:,} s",
}


def rules_in_words(crawl: CrawlJob) -> list[tuple[str, str]]:
    """Name and words of each filter, limit and threshold that is set."""
    told = [
        (name, words(value))
        for key, (name, words) in FILTERS.items()
        if (value := crawl.filters.get(key))
    ]
    for level, name in LEVELS.items():
        limits = [
            words(most)
            for measure, words in MEASURES.items()
            if (most := crawl.budget.get(f"{level}_{measure}"))
        ]
        told += [(name, ", ".join(limits))] if limits else []
    return told + _thresholds(ThresholdsPart(**crawl.thresholds))


def _thresholds(part: ThresholdsPart) -> list[tuple[str, str]]:
    errors = (
        f"more than {part.max_error_percent} % of the URLs of {part.error_minutes:,} minutes failed"
        if part.max_error_percent
        else ""
    )
    room = (
        f"less than {filesizeformat(part.min_free_bytes)} of the archive disk is free"
        if part.min_free_bytes
        else ""
    )
    reasons = " or ".join(filter(None, (errors, room)))
    alert = f"after {part.wait_alert_minutes:,} minutes" if part.wait_alert_minutes else "never"
    return [
        *([(f"{part.at_threshold.capitalize()}s by itself if", reasons)] if reasons else []),
        ("Alert while it waits", alert),
    ]
