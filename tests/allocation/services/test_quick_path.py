"""A decision that the server makes alone leaves the rows that the services would have left, and
takes one call.
"""

from __future__ import annotations

from collections import Counter
from uuid import UUID

import pytest

from allocation.errors import ReleaseExceedsAllocation, RequestExceedsNeed, UnknownResource
from allocation.models import Event, Request
from allocation.services import ReleaseStatus, release_resources, request_resources
from tests.allocation.conftest import ask, available, held
from tests.allocation.services.twins import compare_twins

pytestmark = pytest.mark.slow

ONE = UUID(int=1)
#: ten histories for every push, five hundred in the drill
HISTORIES = [
    range(10),
    *(
        pytest.param(range(first, first + 35), marks=[pytest.mark.drill, pytest.mark.timeout(1800)])
        for first in range(10, 500, 35)
    ),
]
#: what must happen among as many histories, or they would prove little
USUAL = {"granted", "waiting", "released", "kept", "reaped", "stale"}


@pytest.mark.django_db
@pytest.mark.parametrize("seeds", HISTORIES, ids=str)
def test_quick_decisions_leave_the_rows_that_the_services_leave(make_pool, make_process, seeds):
    happened = Counter()
    for seed in seeds:
        happened += compare_twins(seed, make_pool, make_process)

    assert set(happened) >= USUAL


@pytest.mark.django_db(transaction=True)
def test_grant_and_release_take_one_call_each(make_pool, make_process, django_assert_num_queries):
    process = make_process(make_pool(9, 9), "p", (5, 5))

    with django_assert_num_queries(1):
        outcome = request_resources(process=process.pk, amounts={"a": 2}, request_id=ONE)
    with django_assert_num_queries(1):
        growth = request_resources(
            process=process.pk, amounts={"b": 1}, request_id=UUID(int=2), kind="growth", epoch=1
        )
    with django_assert_num_queries(1):
        released = release_resources(process=process.pk, epoch=1, release_id=ONE, amounts=None)

    assert outcome.granted
    assert growth.granted
    assert (released.status, released.amounts) == (ReleaseStatus.RELEASED, {"a": 2, "b": 1})


@pytest.mark.django_db
def test_start_while_another_waits_is_left_to_the_queue(make_pool, make_process):
    pool = make_pool(4)
    holder, waiter, late = (
        make_process(pool, label, (4,)) for label in ("holder", "waiter", "late")
    )
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
    ("amounts", "error"),
    [
        ({"a": 6}, RequestExceedsNeed),
        ({"nope": 1}, UnknownResource),
        ({"\x00": 1}, UnknownResource),
    ],
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
