"""The result of a search, as the page, the command and programs show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crawling.models import CrawlJob
from crawling.uses.search.search import Hit, SearchResult
from crawling.web.languages import NAMES

#: what the pages found are counted by, and the words for it
WORDS = {
    "crawl": "Crawl",
    "host": "Host",
    "type": "Type",
    "month": "Month",
    "language": "Language",
}


@dataclass(frozen=True)
class ValueCount:
    value: str
    label: str
    count: int


def labelled(result: SearchResult) -> dict[str, list[ValueCount]]:
    """The counts of what is worth showing, with a label for each value. One query."""
    crawls = [int(value) for value, _ in result.counts.get("crawl", ())]
    names = dict(CrawlJob.objects.filter(pk__in=crawls).values_list("pk", "name"))
    labels: Mapping[str, Mapping[str, str]] = {
        "crawl": {str(pk): name for pk, name in names.items()},
        "language": {**NAMES, "": "not known"},
    }
    return {
        name: [
            ValueCount(value, labels.get(name, {}).get(value, value), count)
            for value, count in result.counts[name]
        ]
        for name in WORDS
        if result.counts.get(name)
    }


def hit_row(hit: Hit) -> dict[str, Any]:
    page = hit.page
    return {
        "crawl": page.run.crawl_id,
        "crawl_name": page.run.crawl.name,
        "run": page.run.number,
        "page": page.pk,
        "url": page.url.url,
        "title": page.title,
        "language": hit.language,
        "content_type": page.content_type,
        "fetched_at": page.fetched_at,
        "score": round(hit.score, 3),
        "snippet": [{"text": part.text, "is_marked": part.is_marked} for part in hit.snippet],
    }
