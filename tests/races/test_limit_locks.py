"""Limits change under the pool's lock, each by a test that waits."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import transaction

from allocation.models import Grant
from allocation.services import (
    NewClass,
    PoolLimits,
    ProcessLimits,
    add_resource_class,
    change_limits,
    change_process,
    request_resources,
)
from tests.allocation.conftest import ask
from tests.races.conftest import row_held, until_waiting

pytestmark = pytest.mark.django_db(transaction=True)

GOLD, SILVER = (NewClass(key, "bar", "It shines.", 3) for key in ("gold", "silver"))


def add_in_an_open_transaction(pool, new):
    add_resource_class.__wrapped__(pool=pool.pk, new=new)


def test_two_classes_added_at_once_get_a_place_each(make_pool, meanwhile):
    """Without the lock both would count the same places."""
    pool = make_pool(1)

    with transaction.atomic():
        add_in_an_open_transaction(pool, GOLD)
        rival = meanwhile(add_resource_class, pool=pool.pk, new=SILVER)
        until_waiting(1)

    assert rival.result().capacity == [1, 3, 3]
    assert list(pool.classes.values_list("ordinal", "key")) == [
        (0, "a"),
        (1, "gold"),
        (2, "silver"),
    ]


def test_request_that_waits_while_a_class_is_added_finds_the_longer_arrays(
    make_pool, make_process, meanwhile
):
    pool = make_pool(1)
    process = make_process(pool, "p", (1,))

    with transaction.atomic():
        add_in_an_open_transaction(pool, GOLD)
        rival = meanwhile(
            request_resources, process=process.pk, amounts={"a": 1}, request_id=uuid4()
        )
        until_waiting(1)

    assert rival.result().granted
    assert Grant.objects.get().amounts == [1, 0]


@pytest.mark.parametrize("name", ["limits", "process", "class"])
def test_every_change_of_limits_waits_for_the_pool(make_pool, make_process, meanwhile, rival, name):
    pool = make_pool(4)
    process = make_process(pool, "p", (4,), (2,))
    ask(process, (2,))
    work, kwargs = {
        "limits": (
            change_limits,
            {"pool": pool.pk, "limits": PoolLimits(reserved={"a": 1}, bypass_limit=3)},
        ),
        "process": (change_process, {"process": process.pk, "limits": ProcessLimits(priority=3)}),
        "class": (add_resource_class, {"pool": pool.pk, "new": GOLD}),
    }[name]

    with row_held(rival, "allocation_pool", pool.pk):
        late = meanwhile(work, **kwargs)
        until_waiting(1)

    late.result()
