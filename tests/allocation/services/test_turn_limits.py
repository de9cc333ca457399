"""Bypass limit, reserves and priorities, changed while processes wait."""

from __future__ import annotations

import pytest

from allocation.errors import BadBypassLimit, BadPriority, CapacityBelowUse
from allocation.models import Event, EventKind, Request
from allocation.selectors import bank_view, outcome_of
from allocation.services import (
    PoolLimits,
    ProcessLimits,
    change_limits,
    change_process,
    preview_limits,
    preview_process,
)
from tests.allocation.conftest import ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def line(make_pool, make_process):
    """One holds all of it, and two wait."""
    pool = make_pool(4)
    make_process(pool, "holder", (4,), (4,))
    first, second = make_process(pool, "first", (3,)), make_process(pool, "second", (2,))
    return pool, first, second, ask(first, (3,)), ask(second, (2,))


def names(pool) -> list[str]:
    return [wait.label for wait in bank_view(pool.pk).waiting]


def test_raised_priority_moves_a_waiting_start_ahead(line):
    pool, _, second, *_ = line

    assert preview_process(process=second.pk, limits=ProcessLimits(priority=5)).waiting == (
        "second",
        "first",
    )
    assert names(pool) == ["first", "second"]
    change_process(process=second.pk, limits=ProcessLimits(priority=5))

    assert names(pool) == ["second", "first"]
    event = Event.objects.get(kind=EventKind.PRIORITY_CHANGED)
    assert (event.process_id, event.reason) == (second.pk, "The priority is 5, after 0.")


@pytest.mark.parametrize("priority", [-11, 11, True])
def test_priority_out_of_bounds_is_refused(line, priority):
    _, first, *_ = line

    with pytest.raises(BadPriority):
        change_process(process=first.pk, limits=ProcessLimits(priority=priority))


def test_bypass_limit_that_falls_to_nothing_keeps_the_turn_of_the_first(line, make_process):
    pool, *_ = line
    change_limits(pool=pool.pk, limits=PoolLimits(bypass_limit=0, capacity={"a": 5}))

    late = ask(make_process(pool, "late", (1,)), (1,))

    assert not late.granted
    assert "turn of first" in late.reason


def test_raised_bypass_limit_serves_who_was_kept_behind_and_the_preview_says_so(line):
    pool, *_, second = line
    change_limits(pool=pool.pk, limits=PoolLimits(bypass_limit=0))
    change_limits(pool=pool.pk, limits=PoolLimits(capacity={"a": 6}))
    assert not outcome_of(second.request_id).granted

    preview = preview_limits(pool=pool.pk, limits=PoolLimits(bypass_limit=1))
    change_limits(pool=pool.pk, limits=PoolLimits(bypass_limit=1))

    assert (preview.served, preview.waiting) == (("second",), ("first",))
    assert outcome_of(second.request_id).granted


@pytest.mark.parametrize("limit", [-1, 10_001, True])
def test_bypass_limit_out_of_bounds_is_refused(line, limit):
    with pytest.raises(BadBypassLimit):
        change_limits(pool=line[0].pk, limits=PoolLimits(bypass_limit=limit))


def test_preview_of_a_reserve_says_who_would_then_have_to_wait(make_pool, make_process):
    pool = make_pool(4)
    make_process(pool, "holder", (1,), (1,))
    make_process(pool, "small", (1,))
    make_process(pool, "big", (3,))

    assert preview_limits(pool=pool.pk, limits=PoolLimits(reserved={"a": 2})).would_wait == ("big",)


def test_limits_change_all_or_nothing(line):
    pool, *_ = line

    with pytest.raises(CapacityBelowUse):
        change_limits(
            pool=pool.pk, limits=PoolLimits(capacity={"a": 3}, bypass_limit=3, reserved={"a": 1})
        )

    pool.refresh_from_db()
    assert (pool.capacity, pool.bypass_limit, pool.reserved) == ([4], 10, [0])
    assert Request.objects.filter(pool=pool, state="waiting").count() == 2
