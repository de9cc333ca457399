"""The cache as a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator

from dnscache.models import DnsEntry
from dnscache.records import DnsMinute

TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "txt": "text/plain; charset=utf-8",
}
FIELDS = (
    "name", "region", "status", "addresses", "canonical", "ttl", "resolve_ms", "resolved_at",
    "expires_at", "retry_at", "fails", "weight", "upstream", "error",
)  # fmt: skip
COUNTED = (
    "memory",
    "database",
    "lookup",
    "stale",
    "waited_seconds",
    "asked",
    "answered",
    "failed",
    "cut",
)


def lines(kind: str) -> Iterator[str]:
    """Yield the whole cache by name: CSV, JSON, or text that reads like a zone, failures as
    comments.
    """
    rows = DnsEntry.objects.order_by("name").values(*FIELDS).iterator(chunk_size=2000)
    if kind == "csv":
        yield _csv(FIELDS)
        yield from (_csv([_cell(row[field]) for field in FIELDS]) for row in rows)
    elif kind == "json":
        yield "["
        for number, row in enumerate(rows):
            yield ("," if number else "") + "\n" + json.dumps(row, default=str)
        yield "\n]\n"
    else:
        yield from (line for row in rows for line in _zone(row))


def minutes_lines(minutes: Iterable[DnsMinute]) -> Iterator[str]:
    """Yield the numbers behind the chart of the last hour, a line a minute."""
    yield _csv(("minute", *COUNTED))
    yield from (
        _csv((minute.minute.isoformat(), *(getattr(minute, name) for name in COUNTED)))
        for minute in minutes
    )


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


def _cell(value: object) -> object:
    """A text that a spreadsheet could take for a formula begins with an apostrophe; error texts
    come from strangers.
    """
    if isinstance(value, list):
        return " ".join(value)
    is_text = isinstance(value, str)
    return f"'{value}" if is_text and str(value).lstrip()[:1] in {"=", "+", "-", "@"} else value


def _csv(cells: object) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)  # type: ignore[arg-type]
    return line.getvalue()
