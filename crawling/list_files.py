"""The lists of crawls and of hosts as files: what their pages find, in the same order, to the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from crawling.downloads import Download
from crawling.host_filter import WantedHosts
from crawling.hosts import Known, list_hosts
from crawling.idling import waiting_runs
from crawling.listing import Wanted, page_of, sortable
from crawling.row_files import TYPES, lines_of

#: crawls read at a time
CHUNK = 200


def crawls_file(wanted: Wanted, kind: str) -> Download:
    """The crawls wanted; kind: one of TYPES. Each as `/api/crawls` has it."""
    return Download(f"crawls.{kind}", TYPES[kind], lines_of(_crawls(wanted), kind))


def hosts_file(wanted: WantedHosts, kind: str) -> Download:
    """The hosts wanted; kind: one of TYPES. Each as `/api/hosts` has it."""
    return Download(f"hosts.{kind}", TYPES[kind], lines_of(map(host_row, _hosts(wanted)), kind))


def _crawls(wanted: Wanted) -> Iterator[dict[str, Any]]:
    """By keys, so that neither a transaction nor a cursor stays open for as long as somebody's line is slow."""
    waiting = waiting_runs()
    wanted = sortable(replace(wanted, after=None), waiting)
    while True:
        crawls, following = page_of(wanted, waiting, CHUNK)
        yield from (view.as_dict() for _, view in crawls)
        if following is None:
            return
        wanted = replace(wanted, after=following)


def _hosts(wanted: WantedHosts) -> Iterator[Known]:
    after: str | None = ""
    while after is not None:
        rows, after = list_hosts(replace(wanted, after=after))
        yield from rows


def host_row(row: Known) -> dict[str, Any]:
    """A host for programs."""
    facts = {name: getattr(row, name) for name in ("addresses", "robots", "trouble", "due_at", "leased_by", "crawls", "queued", "done")}
    return {"id": row.host.pk, "name": row.host.name, **facts, "blocked": row.block.reason if row.block else None}
