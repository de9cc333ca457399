"""Read the ledger in order, as the replay takes it."""

from __future__ import annotations

from collections.abc import Iterator

from allocation.models import Event
from allocation.rules.replay import LedgerEntry

CHUNK = 5000


def entries(pool: int, *, after: int = 0, until: int | None = None) -> Iterator[LedgerEntry]:
    """The events of a pool behind one version and up to another, by a server-side cursor: however
    many, in little memory.
    """
    found = Event.objects.filter(pool=pool, version__gt=after).order_by("version")
    if until is not None:
        found = found.filter(version__lte=until)
    rows = found.values_list(
        "version",
        "kind",
        "process_id",
        "request_id",
        "amounts",
        "available_before",
        "available_after",
        "verdict",
        "sequence",
    )
    for version, kind, process, request, amounts, before, later, verdict, sequence in rows.iterator(
        chunk_size=CHUNK
    ):
        yield LedgerEntry(
            version,
            kind,
            process or 0,
            request,
            tuple(amounts),
            tuple(before),
            tuple(later),
            verdict,
            tuple(sequence),
        )
