"""The list of hosts as a file: what its page finds, in the same order, to the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from crawling.dashboard.base.responses import Download
from crawling.dashboard.base.row_files import TYPES, lines_of
from crawling.dashboard.hosts.filter import HostFilter
from crawling.dashboard.hosts.reads import HostSummary, list_hosts


def hosts_file(wanted: HostFilter, kind: str) -> Download:
    """The hosts wanted; kind: one of TYPES. Each as `/api/hosts` has it."""
    return Download(f"hosts.{kind}", TYPES[kind], lines_of(map(host_row, _hosts(wanted)), kind))


def _hosts(wanted: HostFilter) -> Iterator[HostSummary]:
    after: str | None = ""
    while after is not None:
        rows, after = list_hosts(replace(wanted, after=after))
        yield from rows


def host_row(row: HostSummary) -> dict[str, Any]:
    """A host for programs."""
    facts = {
        name: getattr(row, name)
        for name in (
            "addresses",
            "robots",
            "trouble",
            "due_at",
            "leased_by",
            "crawls",
            "queued",
            "done",
        )
    }
    return {
        "id": row.host.pk,
        "name": row.host.name,
        **facts,
        "blocked": row.block.reason if row.block else None,
    }
