"""The result of a search, as the page, the command and programs show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from crawling.models import CrawlJob
from crawling.uses.search.search import SearchResult
from crawling.uses.search.snippets import SnippetPart
from crawling.web.languages import NAMES
from serving.listing.columns import Column

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


@dataclass(frozen=True)
class HitRow:
    """A page that was found."""

    crawl: Annotated[int, Column(of="page.run.crawl_id")]
    crawl_name: Annotated[str, Column(of="page.run.crawl.name")]
    run: Annotated[int, Column(of="page.run.number")]
    page: Annotated[int, Column("its id, as in `/crawls/{crawl_id}/pages`", of="page.pk")]
    url: Annotated[str, Column(of="page.url.url")]
    title: Annotated[str, Column(of="page.title")]
    language: Annotated[str, Column("code; empty: not known")]
    content_type: Annotated[str, Column(of="page.content_type")]
    fetched_at: Annotated[datetime, Column(of="page.fetched_at")]
    score: Annotated[float, Column(of="rounded_score")]
    snippet: Sequence[SnippetPart]


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
