"""Twin pools: for one, the server decides quickly whenever it can, for the other never.

Their rows must be alike.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from random import Random
from uuid import UUID

from allocation.errors import AllocationError
from allocation.models import Event, Grant, Outbox, Policy, Pool, Process, Release, Request
from allocation.services import (
    PoolLimits,
    ShareLimits,
    cancel_request,
    change_limits,
    change_share,
    ensure_share,
    finish_process,
    keep_resources,
    reap_expired,
    release_resources,
    request_resources,
    resume_kept,
    take_lease,
)
from tests.allocation.conftest import KEYS, units
from tests.mutants.faults import NEVER_QUICK
from tests.mutants.planting import planted

KINDS = [
    *["start", "growth"] * 5,
    *["stage", "part", "keep", "resume", "cancel"] * 2,
    *["release", "again", "late", "finish", "take", "reap"],
]
LONG_AGO = "2001-01-01T00:00Z"
MINUTE = re.compile(r"(\d{4}-\d\d-\d\d )?\d\d:\d\d")


def steps(random: Random, m: int) -> list[tuple]:
    """The steps for twin pools, by the index of the process; steps that depend on answers (an
    epoch) are completed when they are taken.
    """
    kinds = random.choices(KINDS, k=50)
    return [
        (
            kind,
            random.randrange(4),
            tuple(random.randint(0, 3) for _ in range(m)),
            UUID(int=random.getrandbits(128)),
        )
        for kind in kinds
    ]


def do(processes: list[Process], step: tuple, asked: list[UUID], released: list[UUID]) -> object:
    """Take one step, and return its answer or its refusal without the parts that differ between
    twins.
    """
    kind, place, amounts, number = step
    process = processes[place]
    process.refresh_from_db()
    pk, epoch = process.pk, process.epoch
    try:
        match kind:
            case "start" | "growth" | "stage" | "again":
                number = asked[-1] if kind == "again" and asked else number
                asked.append(number)
                seconds = 60 if sum(amounts) % 2 else None
                kind = "start" if kind == "again" else kind
                wanted = units(*amounts)
                got = request_resources(
                    process=pk,
                    amounts=wanted,
                    request_id=number,
                    kind=kind,
                    epoch=epoch,
                    deadline_seconds=seconds,
                )
                return got.state, got.verdict, got.epoch, timeless(got.reason)
            case "release" | "part" | "late":
                number = released[-1] if sum(amounts) == 1 and released else number
                released.append(number)
                epoch -= kind == "late"
                given = units(*amounts) if kind == "part" else None
                return release_resources(
                    process=pk, epoch=epoch, release_id=number, amounts=given, reason="r" * 250
                ).amounts
            case "finish" if sum(amounts) == 0:
                return finish_process(process=pk)
            case "cancel" if asked:
                return cancel_request(request_id=asked[-1]).state
            case "keep":
                return keep_resources(process=pk, epoch=epoch, keep_seconds=60).amounts
            case "resume":
                return resume_kept(process=pk)
            case "reap":
                Process.objects.filter(pk=pk, lease_until__isnull=False).update(
                    lease_until=LONG_AGO
                )
                Process.objects.filter(pk=pk, kept_until__isnull=False).update(kept_until=LONG_AGO)
                return len(reap_expired())
            case "take":
                return take_lease(process=pk, epoch=epoch, worker="w")
    except AllocationError as error:
        return type(error)
    return None


def twin(number: UUID, which: int) -> UUID:
    return UUID(int=number.int ^ which)


def timeless(reason: str) -> str:
    """The reason without the minutes that it names: twins are served one after the other."""
    return MINUTE.sub("then", reason)


def lift(request: Request) -> tuple[bool, int]:
    """Whether the request is decided, and by how many minutes its turn precedes its arrival."""
    return request.decided_at is not None, round(
        (request.created_at - request.turn).total_seconds() / 60
    )


def rows(pool: Pool, numbers: dict[UUID, int]) -> dict[str, list]:
    """All rows of a pool, with moments reduced to whether they are set and ids to indexes."""
    place = {
        pk: i
        for i, pk in enumerate(
            Process.objects.filter(pool=pool).order_by("pk").values_list("pk", flat=True)
        )
    }
    grants = {
        pk: i
        for i, pk in enumerate(
            Grant.objects.filter(process__pool=pool).order_by("pk").values_list("pk", flat=True)
        )
    }
    pool.refresh_from_db()
    return {
        "pool": [pool.capacity, pool.available, pool.version, pool.is_safe],
        "processes": [
            (
                p.allocated,
                p.holding,
                p.state,
                p.epoch,
                bool(p.lease_until),
                p.worker,
                bool(p.kept_until),
                p.is_waiting,
            )
            for p in Process.objects.filter(pool=pool).order_by("pk")
        ],
        "requests": [
            (
                place[r.process_id],
                r.kind,
                r.amounts,
                r.state,
                r.verdict,
                timeless(r.reason),
                r.epoch,
                r.bypassed,
                bool(r.deadline),
                lift(r),
            )
            for r in Request.objects.filter(pool=pool).order_by("seq")
        ],
        "grants": [
            (
                place[g.process_id],
                numbers[g.request_id],
                g.epoch,
                g.amounts,
                g.remaining,
                bool(g.released_at),
                timeless(g.release_reason),
            )
            for g in Grant.objects.filter(process__pool=pool).order_by("pk")
        ],
        "releases": [
            (place[r.process_id], r.epoch, r.amounts, timeless(r.reason))
            for r in Release.objects.filter(process__pool=pool).order_by("released_at")
        ],
        "events": [
            (
                *(
                    e.version,
                    e.kind,
                    place.get(e.process_id),
                    e.epoch,
                    numbers.get(e.request_id),
                    grants.get(e.grant_id),
                    e.amounts,
                ),
                # A repeated release is recognised by its number.
                *(
                    e.available_before,
                    e.available_after,
                    e.verdict,
                    [place[p] for p in e.sequence],
                    e.kind == "repeated" or timeless(e.reason),
                ),
            )
            for e in Event.objects.filter(pool=pool).order_by("version")
        ],
        "outbox": [
            (o.kind, place[o.process_id], o.epoch, bool(o.sent_at))
            for o in Outbox.objects.filter(pool=pool).order_by("pk")
        ],
    }


def compare_twins(seed: int, make_pool: Callable, make_process: Callable) -> Counter[str]:
    """Do the same to twin pools as the seed draws it: policy, sizes, claims, priorities, in half of
    the cases reserves, and in half a share of some processes with limits and reserves; in every
    fourth the limits bind.

    Raises AssertionError where the pools differ; returns counts of the events, by kind.
    """
    random = Random(seed)
    policy, m = random.choice(Policy.values), random.randint(1, 4)
    capacity = [random.randint(5, 8) for _ in range(m)]
    claims = [tuple(random.randint(1, 5) for _ in range(m)) for _ in range(4)]
    priorities = [random.choice((0, 0, -3, 5, 10)) for _ in claims]
    reserved = {key: random.randint(0, 4) for key in KEYS[:m]} if random.random() < 0.5 else {}
    terms = ShareLimits(
        {key: random.choice((0, 0, 2)) for key in KEYS[:m]},
        {key: random.choice((5, 7, None)) for key in KEYS[:m]},
    )
    sharing = [random.random() < 0.4 for _ in claims]
    has_terms = random.random() < 0.5
    if seed % 4 == 3:
        # all belong to a share with a limit that each process keeps to but no two together, and
        # nothing is reserved
        largest = (max(claim[j] for claim in claims) for j in range(m))
        reserved, terms = {}, ShareLimits({}, dict(zip(KEYS, largest, strict=False)))
        sharing, has_terms = [True] * len(claims), True
    pools = [
        make_pool(*capacity, name=f"{name} {seed}", policy=policy) for name in ("quick", "slow")
    ]
    shares = [ensure_share(pool=pool.pk, ref="x", name="x") for pool in pools]
    twins = [
        [
            make_process(pool, f"p{i}", claim, share=share.pk if sharing[i] else None)
            for i, claim in enumerate(claims)
        ]
        for pool, share in zip(pools, shares, strict=True)
    ]
    if has_terms:
        for share in shares:
            change_share(share=share.pk, limits=terms)
    for pool, processes in zip(pools, twins, strict=True):
        for process, priority in zip(processes, priorities, strict=True):
            Process.objects.filter(pk=process.pk).update(priority=priority)
        change_limits(pool=pool.pk, limits=PoolLimits(reserved=reserved))
    plan, asked, released, numbers = steps(random, m), ([], []), ([], []), {}

    for n, (kind, place, amounts, number) in enumerate(plan):
        if policy == Policy.ALL_AT_ONCE and kind == "start" and sum(amounts) % 4:
            amounts = claims[place]  # mostly amounts that are allowed
        numbers[twin(number, 1)] = numbers[twin(number, 2)] = n
        quick = do(twins[0], (kind, place, amounts, twin(number, 1)), asked[0], released[0])
        with planted(NEVER_QUICK):
            slow = do(twins[1], (kind, place, amounts, twin(number, 2)), asked[1], released[1])
        assert quick == slow, f"seed {seed}, step {n}: {kind}"
    told = [rows(pool, numbers) for pool in pools]

    for table, written in told[0].items():
        assert written == told[1][table], f"seed {seed}: {table}"
    return Counter(kind for _, kind, *_ in told[0]["events"])
