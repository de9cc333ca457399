"""The cache as a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from dnscache.models import DnsEntry
from dnscache.records import SUMS, DnsMinute
from serving.downloads import Download, row_file, text_file

FIELDS = (
    "name", "region", "status", "addresses", "canonical", "ttl", "resolve_ms", "resolved_at",
    "expires_at", "retry_at", "fails", "weight", "upstream", "error",
)  # fmt: skip


def cache_file(kind: str) -> Download:
    """The whole cache by name: csv, json, or txt that reads like a zone, failures as comments."""
    rows = DnsEntry.objects.order_by("name").values(*FIELDS).iterator(chunk_size=2000)
    if kind == "txt":
        return text_file("dns-cache", (line for row in rows for line in _zone(row)))
    return row_file("dns-cache", kind, map(_plain, rows), FIELDS)


def minutes_file(minutes: Iterable[DnsMinute]) -> Download:
    """The numbers behind the chart of the last hour, a line a minute."""
    rows = ({name: getattr(minute, name) for name in ("minute", *SUMS)} for minute in minutes)
    return row_file("dns-last-hour", "csv", rows, ("minute", *SUMS))


def _zone(row: dict[str, object]) -> Iterator[str]:
    name, addresses = row["name"], row["addresses"]
    assert isinstance(addresses, list)
    if not addresses:
        yield f"; {name}. {row['status']} {' '.join(str(row['error']).split())}".rstrip() + "\n"
    owner = name
    if row["canonical"] and row["canonical"] != name:
        yield f"{name}. {row['ttl']} IN CNAME {row['canonical']}.\n"
        owner = row["canonical"]
    for address in addresses:
        yield f"{owner}. {row['ttl']} IN {'AAAA' if ':' in address else 'A'} {address}\n"


def _plain(row: dict[str, object]) -> dict[str, object]:
    """With times as texts, a blank between day and hour."""
    return {name: str(cell) if isinstance(cell, datetime) else cell for name, cell in row.items()}
