from __future__ import annotations

import pytest

from allocation.errors import (
    BadAmount,
    BadClasses,
    BadPolicy,
    CapacityBelowClaim,
    CapacityBelowUse,
    CapacityWouldBeUnsafe,
    ClaimBelowHoldings,
    ClaimExceedsCapacity,
    ClaimWouldBeUnsafe,
    PoolNameTaken,
    ProcessFinished,
    UnknownPool,
    UnknownResource,
)
from allocation.models import Pool, Process, ResourceClass
from allocation.selectors import outcome_of
from allocation.services import (
    NewClass,
    change_claim,
    create_pool,
    finish_process,
    register_process,
    set_capacity,
)
from tests.allocation.conftest import ask, available, units

pytestmark = pytest.mark.django_db


def test_new_pool_has_everything_available(make_pool):
    pool = make_pool(10, 5)

    assert available(pool) == (10, 5)
    assert [(one.ordinal, one.key) for one in pool.classes.all()] == [(0, "a"), (1, "b")]


@pytest.mark.parametrize(
    "classes",
    [
        [],
        [NewClass("a", "u", "s", -1)],
        [NewClass("a", "u", "s", 1), NewClass("a", "u", "s", 1)],
        [NewClass("", "u", "s", 1)],
    ],
)
def test_pool_of_senseless_classes_is_refused(classes):
    with pytest.raises(BadClasses):
        create_pool(name="pool", classes=classes)

    assert not Pool.objects.exists()


def test_pool_name_is_taken_once_and_policy_is_a_known_one(make_pool):
    make_pool(1)

    with pytest.raises(PoolNameTaken):
        make_pool(1)
    with pytest.raises(BadPolicy):
        make_pool(1, name="other", policy="hope")
    assert ResourceClass.objects.count() == 1


def test_claim_above_capacity_is_refused_by_name():
    """T4: A claims 3 of a class of which only 2 exist; widely answered as safe."""
    classes = [NewClass(key, "u", "s", 9 if key != "e" else 2) for key in "abcde"]
    pool = create_pool(name="T4", classes=classes)

    with pytest.raises(ClaimExceedsCapacity, match="resource: e, claim: 3, capacity: 2"):
        register_process(pool=pool.pk, label="A", run_ref="A", maximum=units(1, 1, 2, 1, 3))

    assert not Process.objects.exists()


@pytest.mark.parametrize(
    ("maximum", "error"),
    [({"x": 1}, UnknownResource), ({"a": -1}, BadAmount), ({"a": 1.0}, BadAmount)],
)
def test_claim_that_makes_no_sense_is_refused(make_pool, maximum, error):
    pool = make_pool(4)

    with pytest.raises(error):
        register_process(pool=pool.pk, label="p", run_ref="p", maximum=maximum)


def test_process_of_an_unknown_pool_is_refused():
    with pytest.raises(UnknownPool):
        register_process(pool=0, label="p", run_ref="p", maximum={})


def test_raised_capacity_serves_who_waits(make_pool, make_process):
    pool = make_pool(4, 1)
    make_process(pool, "holder", (4, 0), (4, 0))
    waiting = ask(make_process(pool, "waiter", (2, 0)), (2, 0))

    set_capacity(pool=pool.pk, capacity={"a": 6})

    assert outcome_of(waiting.request_id).granted
    assert available(pool) == (0, 1)


def test_capacity_falls_no_lower_than_use_or_claims(make_pool, make_process):
    pool = make_pool(10)
    process = make_process(pool, "p", (6,), (4,))

    with pytest.raises(CapacityBelowUse, match="resource: a, capacity: 3, in use: 4"):
        set_capacity(pool=pool.pk, capacity={"a": 3})
    with pytest.raises(CapacityBelowClaim, match="resource: a, capacity: 5, process: p, claim: 6"):
        set_capacity(pool=pool.pk, capacity={"a": 5})
    set_capacity(pool=pool.pk, capacity={"a": 6})
    finish_process(process=process.pk)
    set_capacity(pool=pool.pk, capacity={"a": 0})

    assert available(pool) == (0,)


def test_capacity_that_would_be_unsafe_is_refused(make_pool, make_process):
    """AC10: the tape drives, twelve cut to eleven."""
    pool = make_pool(12)
    for label, maximum, holding in (("P1", 4, 2), ("P0", 10, 5), ("P2", 9, 2)):
        make_process(pool, label, (maximum,), (holding,))

    with pytest.raises(CapacityWouldBeUnsafe, match="stuck: P0, P2"):
        set_capacity(pool=pool.pk, capacity={"a": 11})

    assert (available(pool), pool.capacity) == ((3,), [12])


def test_claim_falls_to_what_is_held_and_rises_to_capacity(make_pool, make_process):
    process = make_process(make_pool(10), "p", (8,), (4,))

    with pytest.raises(ClaimBelowHoldings, match="resource: a, claim: 3, least: 4"):
        change_claim(process=process.pk, maximum={"a": 3})
    with pytest.raises(ClaimExceedsCapacity, match="claim: 11, capacity: 10"):
        change_claim(process=process.pk, maximum={"a": 11})

    assert change_claim(process=process.pk, maximum={"a": 4}).max_claim == [4]
    assert change_claim(process=process.pk, maximum={"a": 10}).max_claim == [10]


def test_claim_that_would_be_unsafe_is_refused(make_pool, make_process):
    pool = make_pool(10)
    a = make_process(pool, "a", (4,), (4,))
    make_process(pool, "b", (7,), (4,))
    make_process(pool, "c", (2,), (1,))

    with pytest.raises(ClaimWouldBeUnsafe, match="stuck: a, b"):
        change_claim(process=a.pk, maximum={"a": 7})

    a.refresh_from_db()
    assert a.max_claim == [4]


def test_claim_covers_what_the_process_waits_for(make_pool, make_process):
    pool = make_pool(4)
    make_process(pool, "holder", (4,), (4,))
    waiter = make_process(pool, "waiter", (3,))
    ask(waiter, (2,))

    with pytest.raises(ClaimBelowHoldings):
        change_claim(process=waiter.pk, maximum={"a": 1})


def test_lowered_claim_serves_who_had_to_wait_for_safety(make_pool, make_process):
    pool = make_pool(10)
    a, b = make_process(pool, "a", (8,), (4,)), make_process(pool, "b", (8,), (2,))
    waiting = ask(b, (2,))

    change_claim(process=a.pk, maximum={"a": 6})

    assert outcome_of(waiting.request_id).granted


def test_claim_of_a_finished_process_stays(make_pool, make_process):
    process = make_process(make_pool(4), "p", (4,))
    finish_process(process=process.pk)

    with pytest.raises(ProcessFinished):
        change_claim(process=process.pk, maximum={"a": 1})


def test_flag_of_an_unsafe_pool_is_cleared_once_a_full_check_passes(make_pool, make_process):
    """AC10 forced: completing grants only, until a claim is lowered far enough."""
    pool = make_pool(12)
    p1, p0, _ = (
        make_process(pool, label, (most,), (has,))
        for label, most, has in (("P1", 4, 2), ("P0", 10, 5), ("P2", 9, 2))
    )
    Pool.objects.update(capacity=[11], available=[2], is_safe=False)

    assert not ask(p0, (1,)).granted
    assert ask(p1, (2,)).granted
    change_claim(process=p0.pk, maximum={"a": 9})

    pool.refresh_from_db()
    assert pool.is_safe
