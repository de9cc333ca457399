"""Replays the whole ledger of a pool, checks every decision, and compares the result with the
rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from allocation.errors import UnknownPool
from allocation.history.checkpoints import ledger_entries, restored_replay
from allocation.isolation import repeatable_read
from allocation.models import (
    Conservation,
    Grant,
    LedgerCheckpoint,
    Policy,
    Pool,
    Process,
    ProcessState,
    Request,
    RequestState,
    WaitCount,
)
from allocation.rules.banker import Vector, plus
from allocation.rules.proof import Proof
from allocation.rules.replay import Breach, LedgerEntry


@dataclass(frozen=True)
class AuditFinding:
    """An impossible state: a bad event, or (without a version) rows that differ from the result of
    the ledger.
    """

    sentence: str
    version: int | None = None
    recorded: str = ""
    found: str = ""


@dataclass(frozen=True)
class PoolAudit:
    """A pool's whole past: the number of events, the number of decisions among them, and the
    findings.

    A bad event ends the replay.
    """

    id: int
    name: str
    events: int
    decisions: int
    findings: tuple[AuditFinding, ...]


def audit_pool(pool_id: int) -> PoolAudit:
    """Audit a pool as of one moment, even while it is active. Raises UnknownPool."""
    with repeatable_read():
        pool = Pool.objects.filter(pk=pool_id).first()
        if pool is None:
            raise UnknownPool(pool=pool_id)
        proof = Proof(is_banker=pool.policy != Policy.NAIVE)
        try:
            checkpoints = set(
                LedgerCheckpoint.objects.filter(pool=pool).values_list("version", flat=True)
            )
            waiting = dict(WaitCount.objects.filter(pool=pool).values_list("version", "waiting"))
            for entry in ledger_entries(pool_id):
                proof.check_event(entry)
                if entry.version in checkpoints:
                    _check_checkpoint(pool, entry, proof)
                if waiting.get(entry.version, len(proof.bank.waiting)) != len(proof.bank.waiting):
                    counted = f"{waiting[entry.version]} requests counted that wait"
                    raise Breach(entry, counted, len(proof.bank.waiting))
        except Breach as breach:
            findings = [AuditFinding(str(breach), breach.version, breach.recorded, breach.found)]
        else:
            findings = [*_row_differences(pool, proof)]
        findings += _missing_units(pool)
    return PoolAudit(pool.pk, pool.name, proof.bank.version, proof.decisions, tuple(findings))


def _check_checkpoint(pool: Pool, entry: LedgerEntry, proof: Proof) -> None:
    """Compare a checkpoint, from which a replay may begin, with the state of the whole replay."""
    kept = restored_replay(
        entry.version, LedgerCheckpoint.objects.get(pool=pool, version=entry.version).state
    )
    if kept != proof.bank:
        raise Breach(entry, f"the checkpoint {kept}", proof.bank)


def _row_differences(pool: Pool, proof: Proof) -> Iterator[AuditFinding]:
    """The rows that differ from the state after the last event."""
    bank = proof.bank
    yield from _value_difference("the pool's version", pool.version, bank.version)
    yield from _value_difference("the capacity", tuple(pool.capacity), bank.capacity)
    yield from _value_difference("Available", tuple(pool.available), bank.available)
    if proof.is_banker and pool.is_safe and not proof.is_safe:
        yield from _value_difference("the pool's flag", "safe", "unsafe")
    rows = {row.pk: row for row in Process.objects.filter(pool=pool, state=ProcessState.ACTIVE)}
    yield from _value_difference("the processes", sorted(rows), sorted(bank.claims))
    granted = _open_grants(pool)
    for pk in sorted(rows.keys() & bank.claims.keys()):
        row, held = rows[pk], bank.held[pk]
        yield from _value_difference(
            f"the claim of process {pk}", tuple(row.max_claim), bank.claims[pk]
        )
        yield from _value_difference(f"what process {pk} holds", tuple(row.allocated), held)
        yield from _value_difference(
            f"the open grants of process {pk}", granted.get(pk, (0,) * len(held)), held
        )
        yield from _value_difference(
            f"whether process {pk} keeps a reservation", row.kept_until is not None, pk in bank.kept
        )
    waiting = Request.objects.filter(pool=pool, state=RequestState.WAITING).values_list(
        "pk", flat=True
    )
    yield from _value_difference(
        "the waiting requests", sorted(map(str, waiting)), sorted(map(str, bank.waiting))
    )


def _value_difference(what: str, recorded: object, found: object) -> Iterator[AuditFinding]:
    if recorded != found:
        sentence = (
            f"The rows differ from the ledger in {what}: recorded {recorded}; the replay finds "
            f"{found}."
        )
        yield AuditFinding(sentence, recorded=str(recorded), found=str(found))


def _open_grants(pool: Pool) -> dict[int, Vector]:
    """The units that each process holds, according to its grants alone."""
    held: dict[int, Vector] = {}
    for process, remaining in Grant.objects.filter(
        process__pool=pool, released_at=None
    ).values_list("process", "remaining"):
        held[process] = (
            plus(held[process], tuple(remaining)) if process in held else tuple(remaining)
        )
    return held


def _missing_units(pool: Pool) -> list[AuditFinding]:
    rows = Conservation.objects.filter(pool=pool).order_by("ordinal")
    return [
        AuditFinding(
            f"Units of {row.key} are missing: capacity {row.capacity}, available "
            f"{row.available}, held {row.allocated} "
            f"(difference {row.difference}; held without a grant {row.ungranted})."
        )
        for row in rows
        if row.difference or row.ungranted
    ]
