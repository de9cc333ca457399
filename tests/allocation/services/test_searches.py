"""Pools of experiments, whose safety check searches otherwise (SEEDS P6)."""

from __future__ import annotations

import pytest

from allocation.history.audit import audit_pool
from allocation.models import Event
from allocation.rules.banker import BankVerdict
from allocation.services import finish_process
from tests.allocation.conftest import ask

pytestmark = pytest.mark.django_db


@pytest.fixture(params=["full_scope", "recursive", "uncovered"])
def pool(request, make_pool):
    return make_pool(4, 1, policy=request.param)


def test_a_crossing_request_waits(pool, make_process):
    make_process(pool, "first", (4, 1), (4, 0))
    second = make_process(pool, "second", (1, 1))

    assert ask(second, (0, 1)).verdict is BankVerdict.WAIT_UNSAFE


def test_a_grant_is_proved_without_those_that_wait_and_hold_nothing(pool, make_process):
    first = make_process(pool, "first", (3, 0), (2, 0))
    other = make_process(pool, "other", (2, 0), (2, 0))
    ask(make_process(pool, "waiter", (4, 0)), (4, 0))
    third = make_process(pool, "third", (3, 0))
    ask(third, (1, 0))

    finish_process(process=other.pk)  # serves all that wait

    grant = Event.objects.filter(process=third, kind="granted").get()
    assert grant.sequence == [first.pk, third.pk]
    assert audit_pool(pool.pk).findings == ()
