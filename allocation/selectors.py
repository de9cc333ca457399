"""Read the bank. Each function asks a fixed number of queries and locks nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.db.models import Min, Q

from allocation import banker
from allocation.banker import Decision, State, Vector, Verdict
from allocation.errors import UnknownPool
from allocation.fairness import Asker, Rules, refusal
from allocation.models import Policy, Pool, Process, ProcessState, Request, RequestKind, RequestState, ResourceClass
from allocation.moment import one_moment
from allocation.reasons import Ahead, Explanation, Parties, Party, explain, explain_queue
from allocation.snapshot import BankView, Holding, ProcessRow, ResourceRow, Step, WaitRow
from allocation.values import Outcome
from allocation.wording import Measure

HELD_SINCE = Min("grants__granted_at", filter=Q(grants__released_at=None))


def bank_view(pool_id: int) -> BankView:
    """Show a pool: its matrices, the proof that it is safe, and every wait explained. Raises UnknownPool."""
    with one_moment():
        pool = Pool.objects.filter(pk=pool_id).first()
        if pool is None:
            raise UnknownPool(pool=pool_id)
        classes = list(pool.classes.all())
        active = pool.processes.filter(state=ProcessState.ACTIVE)
        rows = list(active.annotate(since=HELD_SINCE).order_by("-holding", "pk"))
        requests = list(pool.requests.filter(state=RequestState.WAITING).order_by("turn", "seq").select_related("process"))

    waiting = {request.process_id for request in requests}
    processes = tuple(_process_row(row, waits=row.pk in waiting) for row in rows)
    holders = [process for process in processes if any(process.allocation) and process.kept_until is None]
    order = banker.finishable(_state(pool, holders))
    stuck = tuple(process for i, process in enumerate(holders) if i not in order)
    reserved = tuple(process for process in processes if process.kept_until)
    idle, held_off = _part(pool, reserved, [process for process in processes if not any(process.allocation)])
    far = {process.id for process in held_off}
    first = next((request for request in requests if request.process_id not in far), None)
    return BankView(
        id=pool.pk,
        name=pool.name,
        policy=pool.policy,
        resources=resource_rows(pool, classes),
        processes=processes,
        is_safe=not stuck,
        safe_sequence=None if stuck else _steps(pool, [*(holders[i] for i in order), *idle]),
        stuck=stuck,
        waiting=tuple(_wait_row(pool, classes, processes, request, i, first) for i, request in enumerate(requests, start=1)),
        reserved=reserved,
        held_off=tuple(held_off),
    )


def _part(pool: Pool, reserved: Sequence[ProcessRow], idle: Sequence[ProcessRow]) -> tuple[list[ProcessRow], list[ProcessRow]]:
    """Part those that hold nothing: who can always come last, and who claims more than there is beside the reservations."""
    most = tuple(pool.capacity)
    for process in reserved:
        most = banker.minus(most, process.allocation)
    return [one for one in idle if banker.fits(one.maximum, most)], [one for one in idle if not banker.fits(one.maximum, most)]


def waits_of(process_ids: Iterable[int]) -> dict[int, WaitRow]:
    """The waits of these processes by process id, explained as of now; one that does not wait is left out."""
    wanted = set(process_ids)
    waiting = Request.objects.filter(process__in=wanted, state=RequestState.WAITING)
    pools = waiting.order_by("pool").values_list("pool_id", flat=True).distinct()
    return {wait.process: wait for pool in pools for wait in bank_view(pool).waiting if wait.process in wanted}


def holdings_of(process_ids: Iterable[int]) -> dict[int, list[Holding]]:
    """What these processes hold, by process id and in class order; one that holds nothing is left out."""
    rows = list(Process.objects.filter(pk__in=list(process_ids), holding=True).annotate(since=HELD_SINCE).order_by("pk"))
    classes = list(ResourceClass.objects.filter(pool__in={row.pool_id for row in rows}).order_by("ordinal"))
    return {
        row.pk: [
            Holding(row.pk, one.key, one.unit, row.allocated[one.ordinal], row.since)
            for one in classes
            if one.pool_id == row.pool_id and any(row.allocated[one.ordinal : one.ordinal + 1])
        ]
        for row in rows
    }


def in_words(pool: int, amounts: Mapping[str, int]) -> list[str]:
    """Units by class as people say them, in the pool's order; classes of none are left out."""
    classes = ResourceClass.objects.filter(pool=pool, key__in=amounts).order_by("ordinal").values_list("key", "unit")
    return [Measure(key, unit).amount(amounts[key]) for key, unit in classes if amounts[key]]


def outcome_of(request_id: UUID) -> Outcome | None:
    """Where a request stands, without waiting for the pool's lock; None if it is unknown or was rejected."""
    found = Request.objects.select_related("grant").exclude(state=RequestState.REJECTED).filter(pk=request_id).first()
    return Outcome.of(found) if found else None


def _process_row(row: Process, *, waits: bool) -> ProcessRow:
    maximum, allocation = tuple(row.max_claim), tuple(row.allocated)
    return ProcessRow(
        id=row.pk,
        label=row.label,
        run_ref=row.run_ref,
        maximum=maximum,
        allocation=allocation,
        need=banker.minus(maximum, allocation),
        state="reserved" if row.kept_until else "waiting" if waits else "holding" if any(allocation) else "idle",
        epoch=row.epoch,
        lease_until=row.lease_until,
        worker=row.worker,
        since=row.since,  # type: ignore[attr-defined]  # annotated
        kept_until=row.kept_until,
    )


def _state(pool: Pool, processes: Sequence[ProcessRow]) -> State:
    return State(tuple(pool.available), tuple(p.maximum for p in processes), tuple(p.allocation for p in processes))


def _steps(pool: Pool, sequence: Sequence[ProcessRow]) -> tuple[Step, ...]:
    work = banker.work_along(_state(pool, sequence), range(len(sequence)))
    return tuple(Step(process, work[i], work[i + 1]) for i, process in enumerate(sequence))


def resource_rows(pool: Pool, classes: Sequence[ResourceClass]) -> tuple[ResourceRow, ...]:
    """Capacity and Available of a pool, class by class; not of a class that was added since the pool was read."""
    return tuple(
        ResourceRow(one.key, one.unit, one.sentence, units, free)
        for one, units, free in zip(classes, pool.capacity, pool.available, strict=False)
    )


def _wait_row(
    pool: Pool, classes: list[ResourceClass], processes: Sequence[ProcessRow], request: Request, position: int, first: Request | None
) -> WaitRow:
    asker = next(process for process in processes if process.id == request.process_id)
    rows = [process for process in processes if process is asker or (any(process.allocation) and process.kept_until is None)]
    measures = tuple(Measure(one.key, one.unit) for one in classes)
    parties = Parties(_parties(rows), measures, _parties(process for process in processes if process.kept_until))
    state, amounts = _state(pool, rows), tuple(request.amounts)
    verdict = _verdict(pool, state, rows.index(asker), amounts).verdict
    why = explain(state, parties, rows.index(asker), amounts, verdict)
    if verdict is Verdict.GRANT:
        why = _queued(pool, measures, request, first) or why
    return WaitRow(
        request=request.pk,
        process=asker.id,
        label=asker.label,
        kind=RequestKind(request.kind),
        amounts={one.key: units for one, units in zip(classes, amounts, strict=True) if units},
        asked=tuple(measure.amount(units) for measure, units in zip(measures, amounts, strict=True) if units),
        verdict=why.verdict,
        reason=why.reason,
        why=why.why,
        blockers=why.blockers,
        what_ends_it=why.what_ends_it,
        since=request.created_at,
        deadline=request.deadline,
        position=position,
        bypassed=request.bypassed,
    )


def _queued(pool: Pool, measures: Sequence[Measure], request: Request, first: Request | None) -> Explanation | None:
    """Why fairness keeps back a request that is free and safe, if it does."""
    asker = Asker(tuple(request.amounts), any(request.process.allocated), request.process.priority)
    rules = Rules(pool.bypass_limit, tuple(pool.capacity), tuple(pool.reserved))
    is_behind = first is not None and (first.turn, first.seq) < (request.turn, request.seq)
    ahead = Ahead(first.process.label, first.created_at, first.bypassed) if first and is_behind else None
    refused = refusal(rules, asker, tuple(pool.available), passed=ahead.passed if ahead else None)
    return explain_queue(refused, rules, asker, measures, ahead) if refused else None


def _parties(processes: Iterable[ProcessRow]) -> tuple[Party, ...]:
    return tuple(Party(one.id, one.label, one.allocation, one.since, one.kept_until) for one in processes)


def _verdict(pool: Pool, state: State, process: int, amounts: Vector) -> Decision:
    if pool.policy == Policy.NAIVE and banker.fits(amounts, state.available):
        return Decision(Verdict.GRANT)
    return banker.examine(state, process, amounts, state_is_safe=pool.is_safe)
