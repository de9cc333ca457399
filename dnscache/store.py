"""Keeps the answers in PostgreSQL, where they outlive workers and serve all of them. No network here, no clock."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import UTC, datetime

from django.db import connection

from dnscache.addresses import classify
from dnscache.answers import Answer, Reply, Status
from dnscache.models import DnsEntry

_COLUMNS = [field.attname for field in DnsEntry._meta.concrete_fields]
#: Answers may arrive late, from a slow worker: the older one never replaces the newer. Equal times: the last writer.
_UPSERT = f"""
    INSERT INTO dnscache_dnsentry ({", ".join(_COLUMNS)})
    SELECT {", ".join(_COLUMNS)} FROM jsonb_populate_recordset(NULL::dnscache_dnsentry, %s::jsonb)
    ON CONFLICT (name) DO UPDATE SET {", ".join(f"{column} = excluded.{column}" for column in _COLUMNS if column != "name")}
    WHERE dnscache_dnsentry.resolved_at <= excluded.resolved_at
"""  # noqa: S608 - the columns are the model's own


def read(names: Collection[str]) -> dict[str, Answer]:
    """Return what is known of the names, fresh or not, by one query."""
    if not names:
        return {}
    return {entry.name: _answer(entry) for entry in DnsEntry.objects.filter(name__in=names)}


def write(answers: Collection[Answer]) -> None:
    """Keep the answers by one statement, but where a newer one is kept already."""
    if not answers:
        return
    # Sorted: two workers that write the same names must lock them in the same order.
    rows = [_row(answer) for answer in sorted(answers, key=lambda answer: answer.name)]
    with connection.cursor() as cursor:
        cursor.execute(_UPSERT, [json.dumps(rows)])


def _row(answer: Answer) -> dict[str, object]:
    reply = answer.reply
    return {
        "name": answer.name,
        "status": reply.status,
        "addresses": reply.addresses,
        "address_classes": [classify(address) for address in reply.addresses],
        "canonical": reply.canonical[:253],  # escapes of odd bytes can make it longer than any name
        "rcode": reply.rcode,
        "ttl": reply.ttl,
        "resolve_ms": reply.resolve_ms,
        "resolved_at": _moment(answer.resolved_at),
        "expires_at": _moment(answer.expires_at),
        "retry_at": None if answer.retry_at is None else _moment(answer.retry_at),
        "fails": answer.fails,
        "upstream": reply.upstream[:64],
        "error": reply.error[:500],
    }


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _answer(entry: DnsEntry) -> Answer:
    reply = Reply(
        Status(entry.status),
        tuple(entry.addresses),
        entry.canonical,
        entry.rcode,
        entry.ttl,
        entry.resolve_ms,
        entry.upstream,
        entry.error,
    )
    retry_at = entry.retry_at.timestamp() if entry.retry_at else None
    return Answer(entry.name, reply, entry.resolved_at.timestamp(), entry.expires_at.timestamp(), retry_at, entry.fails)
