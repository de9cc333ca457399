"""The list of crawls as a file: what its page finds, in the same order, to the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from crawling.dashboard.crawls.listing import CrawlFilter, page_of, sortable
from crawling.runs.wait_reason import waiting_runs
from serving.downloads import Download, row_file

#: crawls read at a time
CHUNK = 200


def crawls_file(wanted: CrawlFilter, kind: str) -> Download:
    """The crawls wanted; as csv or jsonl. Each as `/api/crawls` has it."""
    return row_file("crawls", kind, _crawls(wanted))


def _crawls(wanted: CrawlFilter) -> Iterator[dict[str, Any]]:
    """By keys, so that neither a transaction nor a cursor stays open for as long as somebody's line
    is slow.
    """
    waiting = waiting_runs()
    wanted = sortable(replace(wanted, after=None), waiting)
    while True:
        crawls, following = page_of(wanted, waiting, CHUNK)
        yield from (view.as_dict() for _, view in crawls)
        if following is None:
            return
        wanted = replace(wanted, after=following)
