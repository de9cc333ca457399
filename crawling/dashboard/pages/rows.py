"""Pages as rows of facts, for programs and for files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any

from crawling.dashboard.base.spreadsheets import csv_lines
from crawling.models import Page

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
        for name in ("last_modified", "expires_at", "etag", "unchanged_since")
    },
    **{
        name: attrgetter(f"url.{name}")
        for name in ("via", "rank", "backlinks", "credit", "attempts")
    },
}


def row_of(page: Page) -> dict[str, Any]:
    """Everything that is known of it, by name."""
    return {name: fact(page) for name, fact in FACTS.items()}


def as_csv(pages: Iterable[Page]) -> Iterator[str]:
    """A line for each, times in ISO 8601."""
    return csv_lines(tuple(FACTS), (_plain(row_of(page)).values() for page in pages))


def as_jsonl(pages: Iterable[Page]) -> Iterator[str]:
    """A JSON object a line for each."""
    return (json.dumps(_plain(row_of(page)), ensure_ascii=False) + "\n" for page in pages)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if hasattr(value, "isoformat") else value
        for name, value in row.items()
    }
