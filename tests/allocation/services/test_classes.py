"""A resource class is added while processes hold and wait; nothing that was there changes."""

from __future__ import annotations

from uuid import uuid4

import pytest

from allocation.errors import BadClasses, ClassKeyTaken, UnknownPool
from allocation.history.listing import recent_events
from allocation.models import Event, EventKind, Grant, Pool, Process, Release, Request
from allocation.selectors import bank_view, holdings_of, outcome_of
from allocation.services import (
    NewClass,
    add_resource_class,
    change_claim,
    release_resources,
    request_resources,
)
from tests.allocation.conftest import ask, available, held, units

pytestmark = pytest.mark.django_db

GOLD = NewClass("gold", "bar", "What gold is for.", 3)


@pytest.fixture
def busy(make_pool, make_process):
    """One that holds, has released, and one that waits."""
    pool = make_pool(4, 1)
    holder = make_process(pool, "holder", (4, 1), (4, 1))
    release_resources(process=holder.pk, epoch=1, release_id=uuid4(), amounts=units(0, 1))
    waiter = make_process(pool, "waiter", (2, 0))
    return pool, holder, waiter, ask(waiter, (2, 0))


def test_every_array_of_the_pool_grows_by_one_place(busy, make_pool):
    pool, *_ = busy
    other = make_pool(5, name="other")

    grown = add_resource_class(pool=pool.pk, new=GOLD)

    assert (grown.capacity, available(pool)) == ([4, 1, 3], (0, 1, 3))
    assert [(one.ordinal, one.key) for one in pool.classes.all()] == [
        (0, "a"),
        (1, "b"),
        (2, "gold"),
    ]
    rows = [
        *Process.objects.values_list("max_claim", "allocated"),
        *Request.objects.values_list("amounts"),
        *Grant.objects.values_list("amounts", "remaining"),
        *Release.objects.values_list("amounts"),
    ]
    assert {(len(array), array[-1]) for row in rows for array in row} == {(3, 0)}
    assert Pool.objects.get(pk=other.pk).capacity == [5]


def test_ledger_tells_of_it_and_keeps_its_older_entries_as_they_were(busy):
    pool, *_ = busy
    add_resource_class(pool=pool.pk, new=GOLD)

    latest, *older = Event.objects.filter(pool=pool).order_by("-version")
    assert (latest.kind, latest.amounts, latest.available_before, latest.available_after) == (
        EventKind.CLASS_ADDED,
        [4, 1, 3],
        [0, 1, 0],
        [0, 1, 3],
    )
    assert {len(event.amounts) for event in older} == {2}
    assert next(row.amounts for row in recent_events(pool.pk)) == ("4 a", "1 b", "3 gold")


def test_those_at_work_go_on_and_may_claim_the_new_class(busy):
    pool, holder, waiter, waiting = busy
    add_resource_class(pool=pool.pk, new=GOLD)

    change_claim(process=holder.pk, maximum={"gold": 2})
    assert request_resources(
        process=holder.pk, amounts={"gold": 2}, request_id=uuid4(), kind="growth", epoch=1
    ).granted
    release_resources(process=holder.pk, epoch=1, release_id=uuid4(), amounts=None)

    assert outcome_of(waiting.request_id).granted
    assert (held(waiter), available(pool)) == ((2, 0, 0), (2, 1, 3))


def test_request_sent_before_is_known_when_it_is_sent_again(busy):
    pool, _, waiter, waiting = busy
    add_resource_class(pool=pool.pk, new=GOLD)

    again = request_resources(process=waiter.pk, amounts=units(2, 0), request_id=waiting.request_id)

    assert again.state == waiting.state


def test_pages_read_the_pool_as_before(busy):
    pool, holder, *_ = busy
    add_resource_class(pool=pool.pk, new=GOLD)

    view = bank_view(pool.pk)

    assert [one.key for one in view.resources] == ["a", "b", "gold"]
    assert view.waiting[0].amounts == {"a": 2}
    assert [one.key for one in holdings_of([holder.pk])[holder.pk]] == ["a"]


@pytest.mark.parametrize(
    ("new", "error"),
    [
        (NewClass("a", "u", "s", 1), ClassKeyTaken),
        (NewClass("", "u", "s", 1), BadClasses),
        (NewClass("gold", "u", "s", -1), BadClasses),
    ],
)
def test_class_that_makes_no_sense_is_refused_and_nothing_grows(busy, new, error):
    pool, *_ = busy

    with pytest.raises(error):
        add_resource_class(pool=pool.pk, new=new)

    assert (available(pool), pool.classes.count()) == ((0, 1), 2)


def test_class_of_an_unknown_pool_is_refused(db):
    with pytest.raises(UnknownPool):
        add_resource_class(pool=0, new=GOLD)
