"""Every wait with its explanation: the classes with too few units, their holders, whether the
request is unavailable, unsafe or out of turn, and when the wait may end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from allocation.models import Policy, Pool, Request, RequestKind, ResourceClass
from allocation.reasons import (
    Explanation,
    FirstInTurn,
    OwnShare,
    Parties,
    Party,
    explain,
    explain_turns,
)
from allocation.rules import banker
from allocation.rules.banker import BankVerdict, State, Vector
from allocation.rules.estimate import (
    WAITERS_AT_MOST,
    Estimate,
    HoldingProcess,
    HoldingTerm,
    WaitingRequest,
    estimate_starts,
    is_served_after_release,
)
from allocation.rules.fairness import QueuedRequest, TurnRules, turn_refusal, units_kept_back
from allocation.rules.remedies import cheapest_release
from allocation.rules.shares import ShareUse
from allocation.snapshot import HolderRelease, ProcessRow, WaitRow
from allocation.wording import UnitWords

#: the number of a pool's waits for which the cheapest release is computed
RELEASES_AT_MOST = 5
#: the mean time for which a shift of each process held its first units, over the last ten shifts
USUAL = """
SELECT asked.id, avg(extract(epoch FROM latest.released_at - latest.granted_at))::float
  FROM unnest(%s::bigint[]) AS asked (id)
 CROSS JOIN LATERAL (SELECT one.granted_at, one.released_at
                       FROM allocation_grant AS one
                       JOIN allocation_request AS request ON request.id = one.request_id
                      WHERE one.process_id = asked.id AND one.released_at IS NOT NULL
                          AND request.kind = 'start'
                      ORDER BY one.id DESC LIMIT 10) AS latest
 GROUP BY asked.id
"""


def usual_shift_seconds(
    processes: Sequence[ProcessRow], requests: Sequence[Request]
) -> dict[int, float]:
    """The usual seconds of a shift for each process that holds units or waits, if it has finished a
    shift.
    """
    ids = {process.id for process in processes if any(process.allocation)} | {
        request.process_id for request in requests[:WAITERS_AT_MOST]
    }
    if not requests:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(USUAL, [sorted(ids)])
        return dict(cursor.fetchall())


@dataclass(frozen=True)
class FirstByShare:
    """The first requests in turn, without those that must wait for a reservation."""

    #: in turn
    requests: Sequence[Request]
    use: ShareUse

    def for_share(self, share: int | None) -> Request | None:
        """The first request that a process of this share must not bypass too often. Requests that
        must wait for the limits of other shares do not count.
        """
        return next((one for one in self.requests if not self._is_held_off(one, share)), None)

    def _is_held_off(self, request: Request, share: int | None) -> bool:
        process = request.process
        if process.share_id == share or process.holding:
            return False
        return self.use.is_full_for(process.share_id, tuple(process.max_claim))


def wait_rows(
    pool: Pool,
    classes: Sequence[ResourceClass],
    processes: Sequence[ProcessRow],
    requests: Sequence[Request],
    usual: dict[int, float],
    first: FirstByShare,
    wanted: Collection[int] | None = None,
) -> tuple[WaitRow, ...]:
    """The waiting requests, in turn, each with its explanation at this moment. wanted: only
    requests of these processes.

    Each request has its `place` in line.
    """
    line = _PoolLine(pool, processes, requests, usual, first)
    estimates, reasons = line.estimates(), WaitReasons(pool, classes, processes, first)
    return tuple(
        _wait_row(
            classes,
            request,
            reasons.explain(request),
            estimate,
            line.release(number, classes)
            if number < (RELEASES_AT_MOST if wanted is None else WAITERS_AT_MOST)
            else (),
        )
        for number, (request, estimate) in enumerate(zip(requests, estimates, strict=True))
        if wanted is None or request.process_id in wanted
    )


class WaitReasons:
    def __init__(
        self,
        pool: Pool,
        classes: Sequence[ResourceClass],
        processes: Sequence[ProcessRow],
        first: FirstByShare,
    ) -> None:
        self._pool, self._first = pool, first
        self._askers = {process.id: process for process in processes}
        holders = [one for one in processes if any(one.allocation) and one.kept_until is None]
        self._rows = {process.id: row for row, process in enumerate(holders)}
        measures = tuple(UnitWords(one.key, one.unit) for one in classes)
        reserved = _parties_of_rows(process for process in processes if process.kept_until)
        self._parties = Parties(_parties_of_rows(holders), measures, reserved)
        self._state = State(
            tuple(pool.available),
            tuple(one.maximum for one in holders),
            tuple(one.allocation for one in holders),
        )

    def explain(self, request: Request) -> Explanation:
        asker, amounts = self._askers[request.process_id], tuple(request.amounts)
        state, parties, row = self._state, self._parties, self._rows.get(asker.id)
        if row is None:
            row = len(parties.rows)
            state = banker.state_with_process(state, asker.maximum, asker.allocation)
            parties = replace(parties, rows=parties.rows + _parties_of_rows([asker]))
        verdict = _bank_verdict(self._pool, state, row, amounts)
        queued = (
            _explain_turns(self._pool, parties.measures, request, self._first)
            if verdict is BankVerdict.GRANT
            else None
        )
        return queued or explain(state, parties, row, amounts, verdict)


def _wait_row(
    classes: Sequence[ResourceClass],
    request: Request,
    why: Explanation,
    estimate: Estimate,
    release: tuple[HolderRelease, ...],
) -> WaitRow:
    amounts = [(one, units) for one, units in zip(classes, request.amounts, strict=True) if units]
    return WaitRow(
        request=request.pk,
        process=request.process_id,
        label=request.process.label,
        kind=RequestKind(request.kind),
        amounts={one.key: units for one, units in amounts},
        asked=tuple(UnitWords(one.key, one.unit).amount(units) for one, units in amounts),
        verdict=why.verdict,
        reason=why.reason,
        why=why.why,
        short=why.short,
        blockers=why.blockers,
        stuck=why.stuck,
        what_ends_it=why.what_ends_it,
        estimate=estimate,
        since=request.created_at,
        deadline=request.deadline,
        position=request.place,  # type: ignore[attr-defined]  # annotated
        bypassed=request.bypassed,
        release=release,
    )


def _explain_turns(
    pool: Pool, measures: Sequence[UnitWords], request: Request, turns: FirstByShare
) -> Explanation | None:
    """The reason why the rules of turns keep back a request whose units are free and whose grant
    would be safe; None if they do not.
    """
    asker, rules = _queued_request(request, turns.use), _turn_rules(pool)
    own, first = request.process.share_id, turns.for_share(request.process.share_id)
    is_behind = first is not None and (first.turn, first.seq) < (request.turn, request.seq)
    ahead = (
        FirstInTurn(first.process.label, first.created_at, first.bypassed)
        if first and is_behind
        else None
    )
    refused = turn_refusal(
        rules, asker, tuple(pool.available), passed=ahead.passed if ahead else None
    )
    if refused is None:
        return None
    return explain_turns(refused, rules, asker, measures, ahead, OwnShare(turns.use, own))


def _queued_request(request: Request, use: ShareUse) -> QueuedRequest:
    process = request.process
    return QueuedRequest.from_share_use(
        tuple(request.amounts),
        tuple(process.max_claim),
        use,
        process.share_id,
        holds=any(process.allocated),
        priority=process.priority,
    )


def _turn_rules(pool: Pool) -> TurnRules:
    return TurnRules(pool.bypass_limit, tuple(pool.capacity), tuple(pool.reserved))


def _parties_of_rows(processes: Iterable[ProcessRow]) -> tuple[Party, ...]:
    return tuple(
        Party(one.id, one.label, one.allocation, one.since, one.kept_until) for one in processes
    )


def _bank_verdict(pool: Pool, state: State, process: int, amounts: Vector) -> BankVerdict:
    if pool.policy == Policy.NAIVE and banker.fits(amounts, state.available):
        return BankVerdict.GRANT
    return banker.decide(state, process, amounts, state_is_safe=pool.is_safe)


class _PoolLine:
    def __init__(
        self,
        pool: Pool,
        processes: Sequence[ProcessRow],
        requests: Sequence[Request],
        usual: dict[int, float],
        turns: FirstByShare,
    ) -> None:
        now, first = timezone.now(), turns.for_share(None)
        self.capacity, self.available = tuple(pool.capacity), tuple(pool.available)
        self.holders = {one.id: one for one in processes if any(one.allocation)}
        self.tenants = [
            HoldingProcess(
                one.id,
                one.label,
                one.maximum,
                one.allocation,
                _holding_term(one, usual.get(one.id), now),
                share=one.share,
            )
            for one in self.holders.values()
        ]
        self.waiters = [_waiting_request(pool, request, usual, turns.use) for request in requests]
        is_passed = first is not None and first.bypassed >= pool.bypass_limit
        self.rules: dict[str, Any] = {
            "limits": {share: terms.limits for share, terms in turns.use.terms.items()},
            "is_naive": pool.policy == Policy.NAIVE,
            "keeps_turn": first.process_id if first and is_passed else None,
        }

    def estimates(self) -> list[Estimate]:
        return estimate_starts(self.available, self.tenants, self.waiters, **self.rules)

    def release(self, number: int, classes: Sequence[ResourceClass]) -> tuple[HolderRelease, ...]:
        """The releases that would end the wait with this number, each with its holder."""
        waiters = self.waiters[: number + 1]
        costs = {
            one.id: sum(map(_share_of_capacity, one.allocation, self.capacity))
            for one in self.tenants
            if one.id != waiters[-1].process
        }
        chosen = cheapest_release(
            costs,
            lambda gone: is_served_after_release(
                gone, self.available, self.tenants, waiters, **self.rules
            ),
        )
        terms = {one.id: one.term for one in self.tenants}
        return tuple(_release_of(self.holders[one], terms[one], classes) for one in chosen)


def _share_of_capacity(units: int, capacity: int) -> float:
    return units / capacity if capacity else 0.0


def _release_of(
    process: ProcessRow, term: HoldingTerm | None, classes: Sequence[ResourceClass]
) -> HolderRelease:
    held = [(one, units) for one, units in zip(classes, process.allocation, strict=True) if units]
    return HolderRelease(
        process.id,
        process.label,
        process.run_ref,
        {one.key: units for one, units in held},
        tuple(UnitWords(one.key, one.unit).amount(units) for one, units in held),
        None if term is None else term.left,
    )


def _holding_term(process: ProcessRow, usual: float | None, now: datetime) -> HoldingTerm | None:
    if process.kept_until:
        return HoldingTerm(max(0.0, (process.kept_until - now).total_seconds()))
    if usual is None or process.since is None:
        return None
    return HoldingTerm(max(0.0, usual - (now - process.since).total_seconds()), usual)


def _waiting_request(
    pool: Pool, request: Request, usual: dict[int, float], use: ShareUse
) -> WaitingRequest:
    process, amounts = request.process, tuple(request.amounts)
    leaves = units_kept_back(_turn_rules(pool), _queued_request(request, use))
    ahead = request.place - 1  # type: ignore[attr-defined]  # annotated
    claim, lasts = tuple(process.max_claim), usual.get(process.pk)
    return WaitingRequest(
        process.pk, process.label, claim, amounts, lasts, leaves, ahead, process.share_id
    )
