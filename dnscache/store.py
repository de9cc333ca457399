"""Stores the answers in PostgreSQL, where they outlive workers and serve all of them. Long-lived
processes write in batches, after the look-ups.

The module uses neither the network nor a clock.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Collection, Iterator
from datetime import UTC, datetime

from django.db import InterfaceError, OperationalError, connection

from dnscache import name_servers
from dnscache.models import DnsEntry
from dnscache.protocol.addresses import classify
from dnscache.protocol.answers import LONGEST_STALE_SECONDS, DnsAnswer, DnsStatus, Reply
from dnscache.protocol.names import levels_of
from dnscache.regions.entry import CachedAnswer

_COLUMNS = [field.attname for field in DnsEntry._meta.concrete_fields]
#: the query is written by hand: for one name, Django takes longer to build the query than
#: PostgreSQL to answer it
_READ = f"SELECT {', '.join(_COLUMNS)} FROM dnscache_dnsentry WHERE name = ANY(%s)"  # noqa: S608
#: Answers may arrive late, from a slow worker: an older answer never replaces a newer one. With
#: equal times the last writer counts. An answer that was flushed between its look-up and its
#: writing is not stored either. `answer_cache.forget_flushed` does the same.
_UPSERT = f"""
    INSERT INTO dnscache_dnsentry ({", ".join(_COLUMNS)})
    SELECT {", ".join(_COLUMNS)} FROM jsonb_populate_recordset(NULL::dnscache_dnsentry, %s::jsonb) e
    WHERE NOT EXISTS (
        SELECT FROM dnscache_dnsflush f WHERE f.at >= e.resolved_at AND (
            f.scope = 'all' OR (f.scope = 'name' AND f.value = e.name)
            OR (f.scope = 'domain' AND f.value = e.registrable)
                OR (f.scope = 'reverse' AND e.region = 2)))
    ON CONFLICT (name) DO UPDATE SET
        {", ".join(f"{column} = excluded.{column}" for column in _COLUMNS if column != "name")}
    WHERE dnscache_dnsentry.resolved_at <= excluded.resolved_at
"""  # noqa: S608 - the columns are the model's own
#: COPY is used, because a million rows may be loaded while all processes wait. `+ 0` keeps
#: PostgreSQL from walking the index on weight, which visits the rows at random: 3.6 s instead of
#: 10.5 for a million
_LOAD = """
    COPY (
        SELECT name, concat_ws(E'\\x1f', registrable, status, addresses, canonical,
            coalesce(rcode::text, ''), ttl, resolve_ms, resolved_at, expires_at,
                coalesce(retry_at::text, ''), coalesce(last_access, resolved_at), fails, region,
                cost_seconds, hits,
            upstream, error)
        FROM dnscache_dnsentry
        WHERE greatest(expires_at, retry_at) > to_timestamp(%(now)s)
            OR (status = 'ok' AND expires_at > to_timestamp(%(now)s) - %(stale)s * interval '1 s')
        ORDER BY weight + 0 DESC LIMIT %(most)s
    ) TO STDOUT
"""
logger = logging.getLogger(__name__)

#: the longest time whose answers a crash can lose, unless the caller writes sooner
WRITE_EVERY_SECONDS = 1.0
#: rows a statement; larger batches are no faster
WRITE_BATCH = 500


def read_answers(names: Collection[str]) -> dict[str, DnsAnswer]:
    """Return the stored answers of the names, fresh or not, by one query."""
    if not names:
        return {}
    return {entry.name: answer_of(entry) for entry in DnsEntry.objects.raw(_READ, [list(names)])}


def stored_rows(*, most: int, now: float) -> Iterator[tuple[str, str]]:
    """The rows for a new process, the most useful first: each name with its row in the form that
    `regions.packed` reads.

    These are the rows that may still be served, or that count failures.
    """
    with (
        connection.cursor() as cursor,
        cursor.copy(_LOAD, {"now": now, "stale": LONGEST_STALE_SECONDS, "most": most}) as rows,
    ):
        yield from rows.rows()


def write_answers(answers: Collection[DnsAnswer]) -> None:
    """Keep the answers, as `write_entries` does."""
    write_entries([CachedAnswer(answer, now=answer.resolved_at) for answer in answers])


def write_entries(entries: Collection[CachedAnswer]) -> None:
    """Store the entries by one statement, unless a newer entry is stored. Also report the questions
    to their name servers.
    """
    if not entries:
        return
    # The rows are sorted: two workers that write the same names must lock them in the same order.
    rows = [_row_of_entry(entry) for entry in sorted(entries, key=lambda entry: entry.name)]
    with connection.cursor() as cursor:
        cursor.execute(_UPSERT, [json.dumps(rows)])
    name_servers.write_questions()


def _row_of_entry(entry: CachedAnswer) -> dict[str, object]:
    return {
        "name": entry.name,
        "registrable": levels_of(entry.name).first,
        "status": entry.status,
        "addresses": entry.addresses,
        "address_classes": [classify(address) for address in entry.addresses],
        # escapes of unusual bytes can make it longer than any name
        "canonical": entry.canonical[:253],
        "rcode": entry.rcode,
        "ttl": entry.ttl,
        "resolve_ms": entry.resolve_ms,
        "resolved_at": _iso_moment(entry.resolved_at),
        "expires_at": _iso_moment(entry.expires_at),
        "retry_at": None if entry.retry_at is None else _iso_moment(entry.retry_at),
        "fails": entry.fails,
        "region": entry.region,
        "cost_seconds": entry.cost_seconds,
        "hits": entry.hits,
        "last_access": _iso_moment(entry.last_access),
        "weight": entry.weight(entry.last_access),
        "upstream": entry.upstream[:64],
        "error": entry.error[:500],
    }


def _iso_moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def answer_of(entry: DnsEntry) -> DnsAnswer:
    """Return the row as the answer that was stored."""
    reply = Reply(
        DnsStatus(entry.status),
        tuple(entry.addresses),
        entry.canonical,
        entry.rcode,
        entry.ttl,
        entry.resolve_ms,
        entry.upstream,
        entry.error,
    )
    retry_at = entry.retry_at.timestamp() if entry.retry_at else None
    return DnsAnswer(
        entry.name,
        reply,
        entry.resolved_at.timestamp(),
        entry.expires_at.timestamp(),
        retry_at,
        entry.fails,
    )


class WriteBehind:
    """Takes entries from any thread, and writes them in a thread of its own after a limited delay,
    or as soon as a batch is full.

    While PostgreSQL cannot be reached, the entries wait; of each name only the newest is kept.
    Without `start`, `flush` writes.
    """

    def __init__(self, *, every_seconds: float = WRITE_EVERY_SECONDS) -> None:
        self._every_seconds = every_seconds
        self._dirty: dict[str, CachedAnswer] = {}
        self._lock = threading.Lock()
        self._begun, self._wake = threading.Event(), threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="dns-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Write the remaining entries and end."""
        self._closing = True
        self._begun.set()
        self._wake.set()
        self._thread.join()

    def write_entries(self, entries: Collection[CachedAnswer]) -> None:
        """Take the entries; the caller does not wait for PostgreSQL here."""
        with self._lock:
            self._dirty.update((entry.name, entry) for entry in entries)
            full = len(self._dirty) >= WRITE_BATCH
        self._begun.set()
        if full:
            self._wake.set()

    def flush(self) -> None:
        """Write all entries taken so far, a batch in each statement. Entries that cannot be written
        now are kept for the next time.
        """
        with self._lock:
            dirty, self._dirty = self._dirty, {}
        names = list(dirty)
        for start in range(0, len(names), WRITE_BATCH):
            try:
                write_entries([dirty[name] for name in names[start : start + WRITE_BATCH]])
            except (OperationalError, InterfaceError) as error:
                logger.warning(
                    "answers not written yet",
                    extra={"count": len(names) - start, "error": str(error)},
                )
                connection.close()
                with self._lock:
                    self._dirty = {name: dirty[name] for name in names[start:]} | self._dirty
                self._begun.set()
                return

    def _work(self) -> None:
        try:
            while not self._closing:
                self._begun.wait()
                self._wake.wait(self._every_seconds)
                self._begun.clear()
                self._wake.clear()
                self.flush()
            self.flush()
        finally:
            connection.close()
