"""Formats crawls for the command line."""

from __future__ import annotations

from collections.abc import Sequence

from django.template.defaultfilters import filesizeformat
from rich.table import Table

from crawling.dashboard.base.crawl_views import CrawlView
from crawling.runs.failure_causes import FailureCause

#: line ends and tabs, and characters that join letters or pictures in some scripts
HARMLESS = "\n\t\u200c\u200d"


def without_controls(text: str) -> str:
    """The text without control characters. Page titles may contain some, and a terminal would obey
    them.
    """
    return "".join(
        sign if sign.isprintable() or sign in HARMLESS else "\N{REPLACEMENT CHARACTER}"
        for sign in text
    )


def crawl_table(views: Sequence[CrawlView]) -> Table:
    table = Table("crawl", "state", "why", box=None, pad_edge=False)
    for heading in ("done", "known", "failed", "size"):
        table.add_column(heading, justify="right")
    for view in views:
        counts = view.counts
        numbers = (
            f"{counts.fetched:,}",
            f"{counts.discovered:,}",
            f"{counts.failed:,}",
            filesizeformat(counts.bytes).replace("\xa0", " "),
        )
        table.add_row(f"{view.id} {view.name}", view.state, view.reason, *numbers)
    return table


def crawl_lines(view: CrawlView, causes: Sequence[FailureCause]) -> str:
    """A crawl in a few lines, with the commonest causes of failed and excluded URLs."""
    counts = view.counts
    size = filesizeformat(counts.bytes).replace("\xa0", " ")
    lines = [
        f"{view.name} (crawl {view.id}, run {view.run}): {view.state}. {view.reason}",
        f"  {counts.fetched:,} pages fetched, {size}; {counts.discovered:,} URLs known",
        f"  {counts.succeeded:,} succeeded, {counts.failed:,} failed, {counts.excluded:,} "
        "excluded, "
        f"{counts.queued:,} queued, {counts.in_process:,} in process",
    ]
    if counts.saved_bytes:
        saved = filesizeformat(counts.saved_bytes).replace("\xa0", " ")
        lines.append(f"  {saved} saved by de-duplication: payloads that were stored before")
    if view.seconds is not None:
        lines.append(f"  {view.seconds:,.1f} s, {view.pages_per_second:,.1f} pages/s")
    if view.schedule_text:
        lines.append(f"  Schedule: {view.schedule_text}")
    lines += [f"  {cause.urls:,} URLs not fetched: {cause.reason}" for cause in causes]
    return "\n".join(lines)
