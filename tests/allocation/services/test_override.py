"""AC10: unsafe limits are refused; an administrator may put them through, and the pool is flagged
until it is safe again.
"""

from __future__ import annotations

import pytest

from allocation.errors import (
    CapacityBelowClaim,
    CapacityBelowUse,
    CapacityWouldBeUnsafe,
    OverrideNeedsReason,
)
from allocation.models import Event, EventKind
from allocation.services import (
    Override,
    PoolLimits,
    ProcessLimits,
    change_claim,
    finish_process,
    preview_limits,
    preview_process,
    set_capacity,
)
from tests.allocation.conftest import ask, available, held

pytestmark = pytest.mark.django_db

BROKEN = Override(by="ada", reason="A drive broke.")


@pytest.fixture
def drives(make_pool, make_process):
    """S2: twelve tape drives; P1 could hold 4, P0 10, P2 9; they hold 2, 5 and 2."""
    pool = make_pool(12)
    return pool, {
        label: make_process(pool, label, (most,), (now,))
        for label, most, now in (("P1", 4, 2), ("P0", 10, 5), ("P2", 9, 2))
    }


@pytest.fixture
def cut(drives):
    """One of the drives is gone all the same."""
    pool, processes = drives
    set_capacity(pool=pool.pk, capacity={"a": 11}, override=BROKEN)
    return pool, processes


def is_safe(pool) -> bool:
    pool.refresh_from_db()
    return pool.is_safe


def test_unsafe_cut_is_refused_and_the_preview_says_who_would_be_stuck(drives):
    pool, _ = drives

    with pytest.raises(CapacityWouldBeUnsafe):
        set_capacity(pool=pool.pk, capacity={"a": 11})
    preview = preview_limits(pool=pool.pk, limits=PoolLimits(capacity={"a": 11}))

    assert (preview.stuck, preview.misfits) == (("P0", "P2"), ())
    assert "stuck: P0, P2" in preview.refused
    assert (available(pool), pool.capacity, is_safe(pool)) == ((3,), [12], True)


def test_override_flags_the_pool_and_is_an_event_of_its_own_before_the_change(cut):
    pool, _ = cut

    assert (available(pool), is_safe(pool)) == ((2,), False)
    latest = list(Event.objects.filter(pool=pool).order_by("-version")[:2])
    assert [event.kind for event in latest] == [EventKind.CAPACITY_SET, EventKind.OVERRIDDEN]
    assert latest[1].reason == "ada: A drive broke."


def test_flagged_pool_grants_what_lets_its_process_finish_and_nothing_else(cut):
    pool, processes = cut

    assert not ask(processes["P0"], (1,)).granted
    assert ask(processes["P1"], (2,)).granted
    assert (held(processes["P1"]), is_safe(pool)) == ((4,), False)


def test_capacity_restored_clears_the_flag_and_serves_those_who_waited(cut):
    pool, processes = cut
    waiting = ask(processes["P0"], (1,))

    set_capacity(pool=pool.pk, capacity={"a": 12})

    assert is_safe(pool)
    assert held(processes["P0"]) == (6,), waiting.reason


def test_lowered_claim_clears_the_flag(cut):
    pool, processes = cut

    change_claim(process=processes["P0"].pk, maximum={"a": 9})

    assert is_safe(pool)


def test_finished_process_clears_the_flag_if_the_rest_can_finish(cut):
    pool, processes = cut
    finish_process(process=processes["P0"].pk)

    assert is_safe(pool)


def test_raised_claim_can_be_overridden_too(make_pool, make_process):
    pool = make_pool(10)
    a = make_process(pool, "a", (4,), (4,))
    make_process(pool, "b", (7,), (4,))

    assert preview_process(process=a.pk, limits=ProcessLimits(maximum={"a": 7})).stuck == ("a", "b")
    change_claim(process=a.pk, maximum={"a": 7}, override=BROKEN)

    assert (is_safe(pool), Event.objects.filter(pool=pool, kind=EventKind.OVERRIDDEN).count()) == (
        False,
        1,
    )


def test_override_of_what_is_safe_flags_nothing(drives):
    pool, _ = drives

    set_capacity(pool=pool.pk, capacity={"a": 13}, override=BROKEN)

    assert is_safe(pool)
    assert not Event.objects.filter(kind=EventKind.OVERRIDDEN).exists()


def test_override_takes_a_reason(drives):
    pool, _ = drives

    with pytest.raises(OverrideNeedsReason):
        set_capacity(pool=pool.pk, capacity={"a": 11}, override=Override("ada", "  "))

    assert (available(pool), is_safe(pool)) == ((3,), True)


def test_override_cannot_take_away_what_is_in_use_or_claimed(drives):
    pool, _ = drives

    with pytest.raises(CapacityBelowUse):
        set_capacity(pool=pool.pk, capacity={"a": 8}, override=BROKEN)
    with pytest.raises(CapacityBelowClaim):
        set_capacity(pool=pool.pk, capacity={"a": 9}, override=BROKEN)


def test_preview_says_who_would_have_to_wait(make_pool, make_process):
    pool = make_pool(12)
    make_process(pool, "holder", (4,), (4,))
    make_process(pool, "big", (8,))
    make_process(pool, "small", (3,))

    preview = preview_limits(pool=pool.pk, limits=PoolLimits(capacity={"a": 10}))

    assert (preview.refused, preview.would_wait, preview.waiting) == ("", ("big",), ())


def test_preview_says_who_would_be_served_and_who_would_go_on_waiting(make_pool, make_process):
    pool = make_pool(8)
    make_process(pool, "holder", (8,), (8,))
    for label, units in (("first", 2), ("second", 6)):
        ask(make_process(pool, label, (units,)), (units,))

    preview = preview_limits(pool=pool.pk, limits=PoolLimits(capacity={"a": 10}))

    assert (preview.served, preview.waiting) == (("first",), ("second",))
    assert available(pool) == (0,)
