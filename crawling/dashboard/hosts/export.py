"""The list of hosts as a file: what its page finds, in the same order, to the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from crawling.dashboard.hosts.filter import HostFilter
from crawling.dashboard.hosts.reads import HostSummary, list_hosts
from serving.downloads import Download, row_file


def hosts_file(wanted: HostFilter, kind: str) -> Download:
    """The hosts wanted; as csv or jsonl. Each as `/api/hosts` has it."""
    return row_file("hosts", kind, map(host_row, _hosts(wanted)))


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
