"""Crawls as the command line prints them."""

from __future__ import annotations

from collections.abc import Sequence

from django.template.defaultfilters import filesizeformat
from rich.table import Table

from crawling.dashboard.base.crawl_views import CrawlView


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


def crawl_lines(view: CrawlView, failures: Sequence[tuple[int, str, int]]) -> str:
    """A crawl in a few lines; `failures` as `selectors.failures` returns them."""
    counts = view.counts
    size = filesizeformat(counts.bytes).replace("\xa0", " ")
    lines = [
        f"{view.name} (crawl {view.id}, run {view.run}): {view.state}. {view.reason}",
        f"  {counts.fetched:,} pages fetched, {size}; {counts.discovered:,} URLs known",
        f"  {counts.succeeded:,} succeeded, {counts.failed:,} failed, {counts.excluded:,} "
        "excluded, "
        f"{counts.queued:,} queued, {counts.in_process:,} in process",
    ]
    if view.seconds is not None:
        lines.append(f"  {view.seconds:,.1f} s, {view.pages_per_second:,.1f} pages/s")
    lines += [f"  {urls:,} URLs not had: {reason}" for _, reason, urls in failures]
    return "\n".join(lines)
