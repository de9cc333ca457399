"""A grant is written by one call of the server, and so is a release, after any kind of decision."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from django.db import connection

from allocation.errors import LedgerBroken
from allocation.models import Event, Grant, Pool
from allocation.services import finish_process, reap_expired, release_resources
from tests.allocation.conftest import ask, available, held
from tests.allocation.services.test_leases import expire

WRITTEN = re.compile(r'^(?:INSERT INTO "|UPDATE "?|SELECT \* FROM (?=allocation_write_))(\w+)')

pytestmark = pytest.mark.django_db


@contextmanager
def writes() -> Iterator[list[str]]:
    """The writer of each grant and release in the block: the server's function, or the table."""
    found: list[str] = []

    def note(execute, sql, *rest):
        found.extend(WRITTEN.findall(sql))
        return execute(sql, *rest)

    with connection.execute_wrapper(note):
        yield found


def end(process, **options):
    given = {"epoch": 1, "release_id": uuid4(), "amounts": None, **options}
    return release_resources(process=process.pk, **given)


@pytest.fixture
def holder_and_waiter(make_pool, make_process):
    """Of 10 units one holds 4; another waits for 8, and a third wants 2."""
    pool = make_pool(10)
    cast = (("holder", (4,), (4,)), ("waiter", (8,), None), ("third", (2,), None))
    holder, waiter, third = (make_process(pool, *who) for who in cast)
    assert not ask(waiter, (8,)).granted
    return holder, waiter, third


def test_grant_that_was_searched_for_is_written_at_once(make_pool, make_process):
    pool = make_pool(12)
    p0, p1 = make_process(pool, "p0", (10,), (5,)), make_process(pool, "p1", (4,), (2,))
    make_process(pool, "p2", (9,), (2,))

    with writes() as written:
        assert ask(p0, (1,)).granted

    assert written == ["allocation_write_grant"]
    assert Event.objects.latest("version").sequence == [p1.pk, p0.pk]


def test_grant_past_a_waiter_is_written_at_once(holder_and_waiter):
    _, _, third = holder_and_waiter

    with writes() as written:
        assert ask(third, (2,)).granted

    assert written == ["allocation_write_grant"]


def test_release_and_the_grants_it_allows_are_written_one_by_one(holder_and_waiter):
    holder, waiter, third = holder_and_waiter
    ask(third, (2,))

    with writes() as written:
        end(holder)

    assert written == ["allocation_write_release", "allocation_write_grant"]
    assert held(waiter) == (8,)


def test_lost_shift_and_finished_process_give_back_by_the_same_call(holder_and_waiter):
    holder, waiter, _ = holder_and_waiter
    expire(holder)

    with writes() as written:
        reap_expired()
        finish_process(process=waiter.pk)

    calls = [name for name in written if name.startswith("allocation_write_")]
    assert calls == [f"allocation_write_{what}" for what in ("release", "grant", "release")]
    assert available(Pool.objects.get()) == (10,)


def test_entry_that_came_before_a_grant_stands_before_it(make_pool, make_process):
    """A stage takes the place of a growth that waits. Lists go by the number of an entry's row."""
    pool = make_pool(5)
    holder = make_process(pool, "holder", (5,), (2,))
    make_process(pool, "other", (2,), (2,))
    assert not ask(holder, (2,)).granted

    assert ask(holder, (1,), kind="stage", epoch=1).granted

    told = list(Event.objects.order_by("pk").values_list("version", "kind"))
    assert told == sorted(told)
    assert [kind for _, kind in told[-2:]] == ["cancelled", "granted"]


def test_units_that_no_grant_covers_are_not_given_back(make_pool, make_process):
    process = make_process(make_pool(9, 9), "p", (5, 5), (3, 1))
    Grant.objects.update(remaining=[1, 1])

    with pytest.raises(LedgerBroken) as broken:
        end(process)

    assert broken.value.facts == {"process": process.pk, "missing": {"a": 2}}
    Grant.objects.update(remaining=[3, 1])
    assert held(process) == (3, 1)
