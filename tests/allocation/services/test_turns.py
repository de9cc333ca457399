"""Turns at the bank: who is served first, who may pass, and how each is told."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models import F

from allocation.errors import BadPriority, ClaimNotWhole, RequestExceedsNeed
from allocation.models import Event, EventKind, Pool, Request, RequestState
from allocation.rules.banker import BankVerdict
from allocation.rules.fairness import QueueVerdict
from allocation.selectors import bank_view, outcome_of
from allocation.services import (
    PoolLimits,
    cancel_request,
    change_limits,
    finish_process,
    keep_resources,
    register_process,
    release_resources,
)
from tests.allocation.conftest import ask, available, held

pytestmark = pytest.mark.django_db


@pytest.fixture
def crowd(make_pool, make_process):
    """Four units, two of them held; `big` requests all and waits; only a holder may pass it more
    than once.
    """
    pool = make_pool(4)
    Pool.objects.update(bypass_limit=1)
    holder = make_process(pool, "holder", (3,), (2,))
    big = make_process(pool, "big", (4,))
    return pool, holder, big, ask(big, (4,))


def test_passing_the_first_is_counted_and_ends_at_the_limit(crowd, make_process):
    pool, _, _, waits = crowd
    first, second = make_process(pool, "first", (1,)), make_process(pool, "second", (1,))

    assert ask(first, (1,)).granted
    told = ask(second, (1,))

    assert Request.objects.get(pk=waits.request_id).bypassed == 1
    assert (told.state, told.verdict) == (RequestState.WAITING, QueueVerdict.WAIT_TURN)
    assert "the turn of big" in told.reason
    assert "overtaken once" in told.reason
    assert outcome_of(told.request_id) == told


def test_holder_passes_whatever_the_limit(crowd):
    pool, holder, _, waits = crowd
    Pool.objects.update(bypass_limit=0)

    assert ask(holder, (1,)).granted
    assert Request.objects.get(pk=waits.request_id).bypassed == 1
    assert available(pool) == (1,)


def test_release_keeps_the_turn_too(crowd, make_process):
    """Three are free after it, and the second would fit; but the first in turn has been passed
    often enough.
    """
    pool, holder, big, _ = crowd
    first, second = make_process(pool, "first", (1,)), make_process(pool, "second", (3,))
    ask(first, (1,))
    ask(second, (3,))

    release_resources(process=holder.pk, epoch=1, release_id=uuid4(), amounts=None)
    assert (held(second), held(big)) == ((0,), (0,))
    finish_process(process=first.pk)
    assert held(big) == (4,)


@pytest.mark.parametrize("freed", [False, True], ids=["asking now", "served by a release"])
def test_nobody_waits_behind_one_whom_a_reservation_holds_off(crowd, make_process, freed):
    """The reservation could last a day, and the first in turn fits."""
    pool, holder, _, _ = crowd
    Pool.objects.update(bypass_limit=0)
    other = make_process(pool, "other", (2,))
    if freed:
        ask(other, (2,))
    keep_resources(process=holder.pk, epoch=1, keep_seconds=60)

    if not freed:
        assert ask(other, (2,)).granted
    assert held(other) == (2,)
    assert bank_view(pool.pk).waiting[0].label == "big"


def test_page_tells_the_same_as_the_answer(crowd, make_process, admin_client):
    pool, _, _, _ = crowd
    ask(make_process(pool, "first", (1,)), (1,))
    told = ask(make_process(pool, "second", (1,)), (1,))

    wait = bank_view(pool.pk).waiting[1]

    assert (wait.verdict, wait.reason, wait.position) == (QueueVerdict.WAIT_TURN, told.reason, 2)
    assert bank_view(pool.pk).waiting[0].bypassed == 1
    assert "the turn of big" in admin_client.get(pool.get_absolute_url()).content.decode()
    assert (
        admin_client.get(f"/api/v1/pools/{pool.pk}").json()["waiting"][1]["verdict"] == "wait_turn"
    )


@pytest.mark.parametrize("stop", ["cancel", "finish"])
def test_who_stops_asking_lets_the_next_go(crowd, make_process, stop):
    pool, _, big, waits = crowd
    ask(make_process(pool, "first", (1,)), (1,))
    second = make_process(pool, "second", (1,))
    ask(second, (1,))

    if stop == "cancel":
        cancel_request(request_id=waits.request_id)
    else:
        finish_process(process=big.pk)

    assert held(second) == (1,)


def test_priority_takes_its_turn_earlier_but_waiting_outweighs_it(make_pool, make_process):
    pool = make_pool(1)
    holder = make_process(pool, "holder", (1,), (1,))
    old, young = (
        register_process(pool=pool.pk, label=name, run_ref=name, maximum={"a": 1})
        for name in ("old", "young")
    )
    urgent = register_process(
        pool=pool.pk, label="urgent", run_ref="urgent", maximum={"a": 1}, priority=5
    )
    for process in (old, young, urgent):
        ask(process, (1,))
    Request.objects.filter(process=old).update(turn=F("turn") - timedelta(minutes=6))

    assert [wait.label for wait in bank_view(pool.pk).waiting] == ["old", "urgent", "young"]
    for expected in (old, urgent, young):
        finish_process(process=holder.pk)
        assert held(expected) == (1,)
        holder = expected


def test_priority_has_its_bounds(make_pool):
    with pytest.raises(BadPriority):
        register_process(pool=make_pool(1).pk, label="p", run_ref="p", maximum={}, priority=11)


def test_reserve_is_left_to_urgent_starts_and_to_holders(make_pool, make_process):
    pool = make_pool(4)
    change_limits(pool=pool.pk, limits=PoolLimits(reserved={"a": 2}))
    holder, usual = make_process(pool, "holder", (3,), (2,)), make_process(pool, "usual", (1,))
    urgent = register_process(
        pool=pool.pk, label="urgent", run_ref="urgent", maximum={"a": 1}, priority=10
    )

    told = ask(usual, (1,))

    assert told.verdict is QueueVerdict.WAIT_RESERVED
    assert told.reason == "Enough is free, but the last 2 a are reserved for urgent work."
    assert bank_view(pool.pk).waiting[0].reason == told.reason
    assert ask(urgent, (1,)).granted
    assert ask(holder, (1,)).granted


def test_smaller_reserve_lets_the_waiting_go(make_pool, make_process):
    pool = make_pool(3)
    make_process(pool, "holder", (1,), (1,))
    usual = make_process(pool, "usual", (1,))
    change_limits(pool=pool.pk, limits=PoolLimits(reserved={"a": 2}))
    ask(usual, (1,))
    assert held(usual) == (0,)

    change_limits(pool=pool.pk, limits=PoolLimits(reserved={"a": 0}))

    assert held(usual) == (1,)
    assert Event.objects.filter(kind=EventKind.RESERVED_SET).count() == 2


def test_all_at_once_asks_for_the_whole_claim(make_pool, make_process):
    pool = make_pool(4, 4, policy="all_at_once")
    process = make_process(pool, "p", (3, 1))

    with pytest.raises(ClaimNotWhole, match="ask for the whole claim"):
        ask(process, (3, 0))
    assert ask(process, (3, 1)).granted
    with pytest.raises(RequestExceedsNeed):
        ask(process, (1, 0))
    assert ask(make_process(pool, "q", (2, 1)), (2, 1)).verdict is BankVerdict.WAIT_UNAVAILABLE
