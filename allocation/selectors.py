"""Read pools. Each function makes a fixed number of queries and locks nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import Count, Min, Q

from allocation.errors import UnknownPool
from allocation.fields import run_reference
from allocation.isolation import repeatable_read
from allocation.models import (
    Pool,
    Process,
    ProcessState,
    Request,
    RequestState,
    ResourceClass,
    Share,
)
from allocation.pool_state import deadlocked_processes, state_of
from allocation.rules import banker
from allocation.rules.estimate import WAITERS_AT_MOST
from allocation.rules.shares import Member, ShareTerms, ShareUse
from allocation.snapshot import (
    BankView,
    Holding,
    PoolCard,
    ProcessRow,
    ResourceRow,
    SafeStep,
    ShareRow,
    WaitRow,
)
from allocation.values import RequestOutcome
from allocation.wait_rows import FirstByShare, WaitReasons, usual_shift_seconds, wait_rows
from allocation.wording import UnitWords
from serving.ids import ids_as_parameter

#: the requests that wait for a pool, in turn; Django would take longer to build the query than
#: PostgreSQL to answer it
IN_TURN = """
SELECT *, row_number() OVER (ORDER BY turn, seq) AS place FROM allocation_request
WHERE pool_id = %(pool)s AND state = 'waiting' ORDER BY turn, seq
"""
FIRST_IN_TURN = f"{IN_TURN} LIMIT {WAITERS_AT_MOST}"
SOME_IN_TURN = f"""
SELECT * FROM ({IN_TURN}) AS line
WHERE place <= {WAITERS_AT_MOST} OR process_id = ANY(%(wanted)s) ORDER BY turn, seq
"""  # noqa: S608  # a constant
TERMS = """
SELECT (SELECT array_agg(c.key ORDER BY c.ordinal) FROM allocation_resourceclass c
        WHERE c.pool_id = p.pool_id), p.max_claim, p.allocated
FROM allocation_process p WHERE p.id = %s
"""
HELD_SINCE = Min("grants__granted_at", filter=Q(grants__released_at=None))


@dataclass(frozen=True)
class _PoolRows:
    """A pool as read at one moment: rows without derived facts."""

    pool: Pool
    classes: list[ResourceClass]
    processes: tuple[ProcessRow, ...]
    requests: list[Request]
    usual: dict[int, float]
    shares: list[Share]

    @property
    def reserved(self) -> tuple[ProcessRow, ...]:
        return tuple(process for process in self.processes if process.kept_until)

    def waits(
        self, held_off: Sequence[ProcessRow], wanted: Collection[int] | None = None
    ) -> tuple[WaitRow, ...]:
        first = self._first_by_share(held_off)
        return wait_rows(
            self.pool, self.classes, self.processes, self.requests, self.usual, first, wanted
        )

    def reasons(self, held_off: Sequence[ProcessRow], wanted: Collection[int]) -> dict[int, str]:
        reasons = WaitReasons(
            self.pool, self.classes, self.processes, self._first_by_share(held_off)
        )
        return {
            request.process_id: reasons.explain(request).reason
            for request in self.requests
            if request.process_id in wanted
        }

    def _first_by_share(self, held_off: Sequence[ProcessRow]) -> FirstByShare:
        far = {process.id for process in held_off}
        near = [request for request in self.requests if request.process_id not in far]
        return FirstByShare(near, self.share_use)

    @property
    def share_use(self) -> ShareUse:
        terms = {
            one.pk: ShareTerms(one.name, tuple(one.reserved), tuple(one.limits))
            for one in self.shares
        }
        members = [
            Member(one.share, one.label, one.maximum, one.allocation)
            for one in self.processes
            if any(one.allocation)
        ]
        return ShareUse(terms, tuple(members))

    @property
    def share_rows(self) -> tuple[ShareRow, ...]:
        use, active = self.share_use, Counter(one.share for one in self.processes)
        return tuple(
            ShareRow(
                one.pk,
                one.ref,
                one.name,
                use.held_units(one.pk),
                use.claimed_units(one.pk),
                tuple(one.reserved),
                tuple(one.limits),
                active[one.pk],
            )
            for one in self.shares
        )


def bank_view(pool_id: int) -> BankView:
    """A pool for display: its matrices, the proof that it is safe, and an explanation of every
    wait.

    Raises UnknownPool.
    """
    books = _read_pool(pool_id)
    pool, processes = books.pool, books.processes
    holders = [
        process for process in processes if any(process.allocation) and process.kept_until is None
    ]
    order = banker.finishable_processes(state_of(pool, holders))
    stuck = tuple(process for i, process in enumerate(holders) if i not in order)
    idle, held_off = _split_off_idle(books)
    return BankView(
        id=pool.pk,
        name=pool.name,
        policy=pool.policy,
        bypass_limit=pool.bypass_limit,
        resources=resource_rows(pool, books.classes),
        processes=processes,
        is_safe=not stuck,
        safe_sequence=None if stuck else _safe_steps(pool, [*(holders[i] for i in order), *idle]),
        stuck=stuck,
        deadlocked=deadlocked_processes(pool, holders, books.requests) if stuck else (),
        waiting=books.waits(held_off),
        reserved=books.reserved,
        held_off=tuple(held_off),
        shares=books.share_rows,
    )


def _read_pool(
    pool_id: int, wanted: Collection[int] | None = None, *, estimates: bool = True
) -> _PoolRows:
    """Read a pool. Raises UnknownPool.

    wanted: the processes to read, besides the first in turn and all that hold units; None for all.
    estimates: whether to read the rows that only estimates need.
    """
    with repeatable_read():
        pool = Pool.objects.filter(pk=pool_id).first()
        if pool is None:
            raise UnknownPool(pool=pool_id)
        classes = list(pool.classes.all())
        active = pool.processes.filter(state=ProcessState.ACTIVE)
        requests = _requests_in_turn(pool_id, wanted)
        if wanted is not None:
            askers = [request.process_id for request in requests]
            active = active.filter(Q(holding=True) | Q(pk__in=ids_as_parameter(askers)))
        rows = list(active.annotate(since=HELD_SINCE).order_by("-holding", "pk"))
        by_id, waiting = {row.pk: row for row in rows}, {request.process_id for request in requests}
        for request in requests:
            # a waiting process is active, so it has been read
            request.process = by_id[request.process_id]
        processes = tuple(_process_row(row, waits=row.pk in waiting) for row in rows)
        shares = list(pool.shares.all())
        usual = usual_shift_seconds(processes, requests) if estimates else {}
        return _PoolRows(pool, classes, processes, requests, usual, shares)


def _requests_in_turn(pool: int, wanted: Collection[int] | None) -> list[Request]:
    """The waiting requests, each with its `place`. With `wanted`, only the first ones and those of
    these processes.

    All waiting requests are read only to find the place of a later one.
    """
    if wanted is None:
        return [*Request.objects.raw(IN_TURN, {"pool": pool})]
    first = [*Request.objects.raw(FIRST_IN_TURN, {"pool": pool})]
    if set(wanted) <= {request.process_id for request in first}:
        return first
    return [*Request.objects.raw(SOME_IN_TURN, {"pool": pool, "wanted": list(wanted)})]


def _split_off_idle(books: _PoolRows) -> tuple[list[ProcessRow], list[ProcessRow]]:
    """Separate the processes without units into those that can always finish last, and those whose
    claim exceeds the capacity without reservations.
    """
    most, empty = (
        tuple(books.pool.capacity),
        [process for process in books.processes if not any(process.allocation)],
    )
    for process in books.reserved:
        most = banker.minus(most, process.allocation)
    return [one for one in empty if banker.fits(one.maximum, most)], [
        one for one in empty if not banker.fits(one.maximum, most)
    ]


def processes_in_turn(process_ids: Iterable[int]) -> list[int]:
    """The processes among these that wait, in the order of turns of each pool. The reasons are left
    out, since they take longer.
    """
    waiting = Request.objects.filter(
        process__in=ids_as_parameter(process_ids), state=RequestState.WAITING
    )
    return list(waiting.order_by("pool", "turn", "seq").values_list("process_id", flat=True))


def waits_of(process_ids: Iterable[int]) -> dict[int, WaitRow]:
    """The current waits of these processes, explained, by process id. Processes that do not wait
    are left out.
    """
    wanted = set(process_ids)
    books = [_read_pool(pool, processes) for pool, processes in _waiting_by_pool(wanted).items()]
    return {
        wait.process: wait for one in books for wait in one.waits(_split_off_idle(one)[1], wanted)
    }


def reasons_of(process_ids: Iterable[int]) -> dict[int, str]:
    """The reasons of `waits_of`, by process id. Estimates and releases are left out, since they
    take longer.
    """
    reasons: dict[int, str] = {}
    for pool, processes in _waiting_by_pool(set(process_ids)).items():
        books = _read_pool(pool, processes, estimates=False)
        reasons |= books.reasons(_split_off_idle(books)[1], processes)
    return reasons


def _waiting_by_pool(wanted: Collection[int]) -> dict[int, set[int]]:
    """The waiting ones among these processes, by pool."""
    waiting = Request.objects.filter(
        process__in=ids_as_parameter(wanted), state=RequestState.WAITING
    )
    asking: dict[int, set[int]] = defaultdict(set)
    for pool, process in waiting.order_by("pool").values_list("pool_id", "process_id"):
        asking[pool].add(process)
    return asking


def holdings_of(process_ids: Iterable[int]) -> dict[int, list[Holding]]:
    """The units of these processes, by process id and in the order of classes. Processes that hold
    nothing are left out.
    """
    rows = list(
        Process.objects.filter(pk__in=list(process_ids), holding=True)
        .annotate(since=HELD_SINCE)
        .order_by("pk")
    )
    classes = list(
        ResourceClass.objects.filter(pool__in={row.pool_id for row in rows}).order_by("ordinal")
    )
    return {
        row.pk: [
            Holding(row.pk, one.key, one.unit, row.allocated[one.ordinal], row.since)
            for one in classes
            if one.pool_id == row.pool_id and any(row.allocated[one.ordinal : one.ordinal + 1])
        ]
        for row in rows
    }


def terms_of(process: int) -> tuple[dict[str, int], dict[str, int]]:
    """The Max of a process, and its units, by resource class. Shifts call this often."""
    with connection.cursor() as cursor:
        cursor.execute(TERMS, [process])
        keys, maximum, allocated = cursor.fetchone()
    held = {key: units for key, units in zip(keys, allocated, strict=False) if units}
    return dict(zip(keys, maximum, strict=False)), held


def format_amounts(pool: int, amounts: Mapping[str, int]) -> list[str]:
    """Units by class in the words of pages, in the pool's order, without classes of no units."""
    classes = (
        ResourceClass.objects.filter(pool=pool, key__in=amounts)
        .order_by("ordinal")
        .values_list("key", "unit")
    )
    return [UnitWords(key, unit).amount(amounts[key]) for key, unit in classes if amounts[key]]


def outcome_of(request_id: UUID) -> RequestOutcome | None:
    """The state of a request, without waiting for the pool's lock. None if the request is unknown
    or was rejected.
    """
    found = (
        Request.objects.select_related("grant")
        .exclude(state=RequestState.REJECTED)
        .filter(pk=request_id)
        .first()
    )
    return RequestOutcome.from_request(found) if found else None


def _process_row(row: Process, *, waits: bool) -> ProcessRow:
    maximum, allocation = tuple(row.max_claim), tuple(row.allocated)
    return ProcessRow(
        id=row.pk,
        label=row.label,
        run_ref=row.run_ref,
        maximum=maximum,
        allocation=allocation,
        need=banker.minus(maximum, allocation),
        state="reserved"
        if row.kept_until
        else "waiting"
        if waits
        else "holding"
        if any(allocation)
        else "idle",
        epoch=row.epoch,
        lease_until=row.lease_until,
        worker=row.worker,
        since=row.since,  # type: ignore[attr-defined]  # annotated
        kept_until=row.kept_until,
        priority=row.priority,
        share=row.share_id,
    )


def _safe_steps(pool: Pool, sequence: Sequence[ProcessRow]) -> tuple[SafeStep, ...]:
    work = banker.work_vectors(state_of(pool, sequence), range(len(sequence)))
    return tuple(SafeStep(process, work[i], work[i + 1]) for i, process in enumerate(sequence))


def resource_rows(pool: Pool, classes: Sequence[ResourceClass]) -> tuple[ResourceRow, ...]:
    """Capacity and Available of a pool, class by class. A class that was added since the pool was
    read is left out.
    """
    return tuple(
        ResourceRow(one.key, one.unit, one.sentence, units, free, reserved)
        for one, units, free, reserved in zip(
            classes, pool.capacity, pool.available, pool.reserved, strict=False
        )
    )


def pool_cards() -> list[PoolCard]:
    """Every pool that crawls use, with the held share of its units and the number of waiting runs;
    pools without processes last.
    """
    active = dict(
        Process.objects.filter(state=ProcessState.ACTIVE)
        .order_by()
        .values_list("pool")
        .annotate(Count("pk"))
    )
    holding = Process.objects.filter(state=ProcessState.ACTIVE, holding=True)
    wholly = ~Q(run__in=holding.values(run=run_reference()))
    waiting = {
        row["pool"]: (row["requests"], row["runs"])
        for row in Request.objects.filter(state=RequestState.WAITING)
        .annotate(run=run_reference("process__"))
        .order_by()
        .values("pool")
        .annotate(requests=Count("pk"), runs=Count("run", distinct=True, filter=wholly))
    }
    cards = [
        PoolCard(
            id=pool.pk,
            name=pool.name,
            policy=pool.policy,
            is_safe=pool.is_safe,
            resources=resource_rows(pool, list(pool.classes.all())),
            processes=active.get(pool.pk, 0),
            waiting_requests=waiting.get(pool.pk, (0, 0))[0],
            waiting_runs=waiting.get(pool.pk, (0, 0))[1],
        )
        for pool in Pool.objects.filter(is_experiment=False)
        .prefetch_related("classes")
        .order_by("name")
    ]
    return sorted(cards, key=lambda card: not card.processes)
