"""Replays the ledger from near its end. A checkpoint is stored every thousand events. The audit can
prove its content.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from uuid import UUID

from allocation.models import Event, LedgerCheckpoint, Pool
from allocation.rules.replay import Breach, LedgerEntry, LedgerReplay, LedgerWait

CHUNK = 5000
#: the number of events between checkpoints: replaying 100,000 events takes 1.4 s, reading and
#: replaying 1,000 some 10 ms
EVERY = 1000
logger = logging.getLogger(__name__)


def ledger_entries(pool: int, *, after: int = 0, until: int | None = None) -> Iterator[LedgerEntry]:
    """The events of a pool after one version and up to another. They are read by a server-side
    cursor, so only some are in memory.
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
        "share_id",
    )
    for row in rows.iterator(chunk_size=CHUNK):
        version, kind, process, request, amounts, before, later, verdict, sequence, share = row
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
            share,
        )


def replayed_state(pool: int, until: int) -> LedgerReplay:
    """The state of the pool after the event of that version, replayed from the nearest checkpoint
    on.

    Raises Breach.
    """
    nearest = (
        LedgerCheckpoint.objects.filter(pool=pool, version__lte=until).order_by("-version").first()
    )
    replay = restored_replay(nearest.version, nearest.state) if nearest else LedgerReplay()
    for entry in ledger_entries(pool, after=replay.version, until=until):
        replay.apply_event(entry)
    return replay


def saved_state(replay: LedgerReplay) -> dict[str, Any]:
    return {
        "capacity": replay.capacity,
        "available": replay.available,
        "in_use": replay.in_use,
        "claims": {str(process): claim for process, claim in replay.claims.items()},
        "held": {str(process): held for process, held in replay.held.items()},
        "kept": sorted(replay.kept),
        "waiting": [[str(request), *wait] for request, wait in replay.waiting.items()],
        "shares": {str(process): share for process, share in replay.shares.items()},
        "limits": {str(share): limit for share, limit in replay.limits.items()},
        "overrides": replay.overrides,
        "counts": replay.counts,
    }


def restored_replay(version: int, state: dict[str, Any]) -> LedgerReplay:
    return LedgerReplay(
        version=version,
        capacity=tuple(state["capacity"]),
        available=tuple(state["available"]),
        in_use=tuple(state["in_use"]),
        claims={int(process): tuple(claim) for process, claim in state["claims"].items()},
        held={int(process): tuple(held) for process, held in state["held"].items()},
        kept=set(state["kept"]),
        waiting={
            UUID(request): LedgerWait(process, tuple(amounts), since, verdict)
            for request, process, amounts, since, verdict in state["waiting"]
        },
        shares={int(process): share for process, share in state.get("shares", {}).items()},
        limits={int(share): tuple(limit) for share, limit in state.get("limits", {}).items()},
        overrides=state["overrides"],
        counts=state["counts"],
    )


def keep_checkpoints() -> int:
    """Store the checkpoints that have become due since the last call. Return their number. No lock
    is needed, since events never change.

    For a ledger that cannot be replayed, nothing is stored: the fault is logged, and
    `audit_allocation` explains it.
    """
    return sum(
        _write_new_checkpoints(pool, version)
        for pool, version in Pool.objects.values_list("pk", "version")
    )


def _write_new_checkpoints(pool: int, version: int) -> int:
    last = LedgerCheckpoint.objects.filter(pool=pool).order_by("-version").first()
    if version - (last.version if last else 0) < EVERY:
        return 0
    kept = 0
    try:
        replay = restored_replay(last.version, last.state) if last else replayed_state(pool, 0)
        for entry in ledger_entries(pool, after=replay.version, until=version - version % EVERY):
            replay.apply_event(entry)
            if entry.version % EVERY == 0:
                kept += LedgerCheckpoint.objects.get_or_create(
                    pool_id=pool, version=entry.version, defaults={"state": saved_state(replay)}
                )[1]
    except Breach as breach:
        logger.error(
            "the ledger cannot be replayed", extra={"pool_id": pool, "breach": str(breach)}
        )
    return kept
