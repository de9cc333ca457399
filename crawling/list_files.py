"""The lists of crawls and of hosts as files: what their pages find, in the same order, to the end."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from crawling.downloads import Download
from crawling.host_filter import WantedHosts
from crawling.hosts import Known, list_hosts
from crawling.idling import waiting_runs
from crawling.listing import Wanted, page_of, sortable
from crawling.spreadsheets import csv_lines

#: crawls read at a time
CHUNK = 200
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


def crawls_file(wanted: Wanted, kind: str) -> Download:
    """The crawls wanted; kind: one of TYPES. Each as `/api/crawls` has it."""
    return Download(f"crawls.{kind}", TYPES[kind], _lines(_crawls(wanted), kind))


def hosts_file(wanted: WantedHosts, kind: str) -> Download:
    """The hosts wanted; kind: one of TYPES. Each as `/api/hosts` has it."""
    return Download(f"hosts.{kind}", TYPES[kind], _lines(map(host_row, _hosts(wanted)), kind))


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


def _lines(rows: Iterable[dict[str, Any]], kind: str) -> Iterator[str]:
    return _as_csv(rows) if kind == "csv" else (json.dumps(row, ensure_ascii=False, default=_text) + "\n" for row in rows)


def _as_csv(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return
    yield from csv_lines(tuple(first), (map(_cell, row.values()) for row in (first, *rows)))


def _cell(value: Any) -> Any:
    return " ".join(value) if isinstance(value, list) else _text(value) if isinstance(value, datetime) else value


def _text(moment: datetime) -> str:
    return moment.isoformat()
