"""What the server decides alone leaves the rows that the services would have left, and takes one call."""

from __future__ import annotations

from random import Random
from uuid import UUID

import pytest

from allocation.errors import AllocationError, ReleaseExceedsAllocation, RequestExceedsNeed, UnknownResource
from allocation.models import Event, Grant, Outbox, Pool, Process, Release, Request
from allocation.services import (
    ReleaseStatus,
    cancel_request,
    finish_process,
    keep_resources,
    release_resources,
    request_resources,
    set_reserved,
    take_lease,
)
from tests.allocation.conftest import KEYS, ask, available, held, units
from tests.mutants.faults import NEVER_QUICK
from tests.mutants.planting import planted

ONE = UUID(int=1)


def steps(random: Random, m: int) -> list[tuple]:
    """What is done to twin pools, by place of the process; sequels to answers (an epoch) are found when they are done."""
    kinds = random.choices(["start", "growth", "stage", "release", "part", "again", "late", "finish", "cancel", "keep", "take"], k=50)
    return [(kind, random.randrange(4), tuple(random.randint(0, 3) for _ in range(m)), UUID(int=random.getrandbits(128))) for kind in kinds]


def do(processes: list[Process], step: tuple, asked: list[UUID], released: list[UUID]) -> object:
    """Do one step, and return its answer or its refusal without what differs between twins."""
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
                got = request_resources(process=pk, amounts=wanted, request_id=number, kind=kind, epoch=epoch, deadline_seconds=seconds)
                return got.state, got.verdict, got.epoch, got.reason
            case "release" | "part" | "late":
                number = released[-1] if sum(amounts) == 1 and released else number
                released.append(number)
                epoch -= kind == "late"
                given = units(*amounts) if kind == "part" else None
                return release_resources(process=pk, epoch=epoch, release_id=number, amounts=given, reason="r" * 250).amounts
            case "finish" if sum(amounts) == 0:
                return finish_process(process=pk)
            case "cancel" if asked:
                return cancel_request(request_id=asked[-1]).state
            case "keep" if sum(amounts) < 3:
                return keep_resources(process=pk, epoch=epoch, keep_seconds=60).amounts
            case "take":
                return take_lease(process=pk, epoch=epoch, worker="w")
    except AllocationError as error:
        return type(error)
    return None


def twin(number: UUID, which: int) -> UUID:
    return UUID(int=number.int ^ which)


def lift(request: Request) -> tuple[bool, int]:
    """Whether it is decided, and how many minutes its turn was before it came."""
    return request.decided_at is not None, round((request.created_at - request.turn).total_seconds() / 60)


def rows(pool: Pool, numbers: dict[UUID, int]) -> dict[str, list]:
    """All that was written about a pool, with moments as whether they are set and ids as places."""
    place = {pk: i for i, pk in enumerate(Process.objects.filter(pool=pool).order_by("pk").values_list("pk", flat=True))}
    grants = {pk: i for i, pk in enumerate(Grant.objects.filter(process__pool=pool).order_by("pk").values_list("pk", flat=True))}
    pool.refresh_from_db()
    return {
        "pool": [pool.capacity, pool.available, pool.version, pool.is_safe],
        "processes": [
            (p.allocated, p.holding, p.state, p.epoch, bool(p.lease_until), p.worker, bool(p.kept_until))
            for p in Process.objects.filter(pool=pool).order_by("pk")
        ],
        "requests": [
            (place[r.process_id], r.kind, r.amounts, r.state, r.verdict, r.reason, r.epoch, r.bypassed, bool(r.deadline), lift(r))
            for r in Request.objects.filter(pool=pool).order_by("seq")
        ],
        "grants": [
            (place[g.process_id], numbers[g.request_id], g.epoch, g.amounts, g.remaining, bool(g.released_at), g.release_reason)
            for g in Grant.objects.filter(process__pool=pool).order_by("pk")
        ],
        "releases": [
            (place[r.process_id], r.epoch, r.amounts, r.reason) for r in Release.objects.filter(process__pool=pool).order_by("released_at")
        ],
        "events": [
            (
                *(e.version, e.kind, place.get(e.process_id), e.epoch, numbers.get(e.request_id), grants.get(e.grant_id), e.amounts),
                # A repeated release is told by its number.
                *(e.available_before, e.available_after, e.verdict, [place[p] for p in e.sequence], e.kind == "repeated" or e.reason),
            )
            for e in Event.objects.filter(pool=pool).order_by("version")
        ],
        "outbox": [(o.kind, place[o.process_id], o.epoch, bool(o.sent_at)) for o in Outbox.objects.filter(pool=pool).order_by("pk")],
    }


@pytest.mark.django_db
@pytest.mark.parametrize("policy", ["banker", "naive", "all_at_once"])
@pytest.mark.parametrize("seed", range(4))
def test_quick_decisions_write_the_rows_that_the_services_write(make_pool, make_process, policy, seed):
    random = Random(f"{policy} {seed}")
    m = random.randint(1, 4)
    capacity = [random.randint(6, 12) for _ in range(m)]
    claims = [tuple(random.randint(0, 6) for _ in range(m)) for _ in range(4)]
    pools = [make_pool(*capacity, name=name, policy=policy) for name in ("quick", "slow")]
    twins = [[make_process(pool, f"p{i}", claim) for i, claim in enumerate(claims)] for pool in pools]
    Process.objects.filter(label="p1").update(priority=10)
    Process.objects.filter(label="p2").update(priority=-3)
    if seed == 3:
        for pool in pools:
            set_reserved(pool=pool.pk, units={KEYS[0]: 3})
    plan, asked, released, numbers = steps(random, m), ([], []), ([], []), {}

    for n, (kind, place, amounts, number) in enumerate(plan):
        amounts = claims[place] if policy == "all_at_once" and kind == "start" else amounts
        numbers[twin(number, 1)] = numbers[twin(number, 2)] = n
        quick = do(twins[0], (kind, place, amounts, twin(number, 1)), asked[0], released[0])
        with planted(NEVER_QUICK):
            slow = do(twins[1], (kind, place, amounts, twin(number, 2)), asked[1], released[1])
        assert quick == slow
    told = [rows(pool, numbers) for pool in pools]

    assert told[0] == told[1]
    assert told[0]["events"][-1][0] > 10, "hardly anything happened"


@pytest.mark.django_db(transaction=True)
def test_grant_and_release_take_one_call_each(make_pool, make_process, django_assert_num_queries):
    process = make_process(make_pool(9, 9), "p", (5, 5))

    with django_assert_num_queries(1):
        outcome = request_resources(process=process.pk, amounts={"a": 2}, request_id=ONE)
    with django_assert_num_queries(1):
        growth = request_resources(process=process.pk, amounts={"b": 1}, request_id=UUID(int=2), kind="growth", epoch=1)
    with django_assert_num_queries(1):
        released = release_resources(process=process.pk, epoch=1, release_id=ONE, amounts=None)

    assert outcome.granted
    assert growth.granted
    assert (released.status, released.amounts) == (ReleaseStatus.RELEASED, {"a": 2, "b": 1})


@pytest.mark.django_db
def test_start_while_another_waits_is_left_to_the_queue(make_pool, make_process):
    pool = make_pool(4)
    holder, waiter, late = (make_process(pool, label, (4,)) for label in ("holder", "waiter", "late"))
    ask(holder, (2,))
    waits = ask(waiter, (3,))

    assert ask(late, (1,)).reason  # it would not be safe
    release_resources(process=holder.pk, epoch=1, release_id=ONE, amounts=None)

    assert not waits.granted
    assert held(waiter) == (3,)
    assert Request.objects.get(process=waiter).bypassed == 0


@pytest.mark.django_db
def test_grant_that_only_a_safe_order_allows_is_left_to_the_banker(make_pool, make_process):
    pool = make_pool(12)
    p0, p1 = make_process(pool, "p0", (10,), (5,)), make_process(pool, "p1", (4,), (2,))
    assert available(pool) == (5,)
    make_process(pool, "p2", (9,), (2,))

    assert ask(p1, (1,)).granted
    assert Event.objects.latest("version").sequence == [p1.pk]
    assert ask(p0, (1,)).granted
    assert Event.objects.latest("version").sequence == [p1.pk, p0.pk]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("amounts", "error"), [({"a": 6}, RequestExceedsNeed), ({"nope": 1}, UnknownResource), ({"\x00": 1}, UnknownResource)]
)
def test_what_is_refused_is_refused_in_words(make_pool, make_process, amounts, error):
    process = make_process(make_pool(9), "p", (5,))

    with pytest.raises(error):
        request_resources(process=process.pk, amounts=amounts, request_id=ONE)


@pytest.mark.django_db
def test_more_than_is_held_is_not_taken_back(make_pool, make_process):
    process = make_process(make_pool(9), "p", (5,), (2,))

    with pytest.raises(ReleaseExceedsAllocation):
        release_resources(process=process.pk, epoch=1, release_id=ONE, amounts={"a": 3})
    assert held(process) == (2,)
