"""AC7: eight clients at once in each other's way.

Nothing is lost, no client hangs, none is left waiting.
"""

from __future__ import annotations

import random
import time
from itertools import pairwise
from uuid import uuid4

import pytest
from django.db.models import Count, F

from allocation.models import Event, Grant, Outbox, OutboxKind, Pool, Process, Request, RequestState
from allocation.selectors import outcome_of
from allocation.services import grant_waiting_requests_of_pool, release_resources
from tests.allocation.conftest import ask, available, held
from tests.races.conftest import until

pytestmark = pytest.mark.django_db(transaction=True)

CLIENTS = 8
#: for every push, and in the drill
SECONDS = [1, pytest.param(3, marks=pytest.mark.drill)]


def granted(outcome):
    return until(lambda: outcome_of(outcome.request_id), lambda now: now.granted)


def some_of(dice, most):
    amounts = tuple(dice.randint(0, units) for units in most)
    return amounts if any(amounts) else (1, *amounts[1:])


def work(process, seed, seconds):
    """Shift after shift: start with something, grow or pass a stage while holding it, give some
    back, end. Returns how many.
    """
    dice, claim, shifts, end = (
        random.Random(seed),
        tuple(process.max_claim),
        0,
        time.monotonic() + seconds,
    )
    while time.monotonic() < end:
        start = some_of(dice, claim)
        epoch = granted(ask(process, start)).epoch
        need = tuple(most - has for most, has in zip(claim, start, strict=True))
        if any(need):
            more = ask(
                process,
                tuple(
                    dice.randint(least, units)
                    for least, units in zip(map(bool, need), need, strict=True)
                ),
                kind=(kind := dice.choice(["growth", "stage"])),
                epoch=epoch,
            )
            if kind == "stage":
                granted(more)
        part = dict(zip("ab", map(dice.randint, (0, 0), held(process)), strict=True))
        for amounts in (part, None):
            release_resources(process=process.pk, epoch=epoch, release_id=uuid4(), amounts=amounts)
        shifts += 1
    return shifts


def nothing_is_left_over(pool):
    assert available(pool) == tuple(pool.capacity)
    assert not Request.objects.filter(state=RequestState.WAITING).exists()
    assert grant_waiting_requests_of_pool(pool=pool.pk) == 0
    assert not Grant.objects.filter(released_at=None).exists()


def ledger_is_whole(pool):
    """Each event takes Available from where the one before left it, and each start was granted and
    told once.
    """
    events = list(Event.objects.filter(pool=pool).order_by("version"))
    assert [event.version for event in events] == list(
        range(1, Pool.objects.get(pk=pool.pk).version + 1)
    )
    for before, after in pairwise(events):
        assert after.available_before == before.available_after
    starts = Grant.objects.filter(request__kind="start", process__pool=pool)
    assert (
        not starts.values("process", "epoch").annotate(times=Count("pk")).exclude(times=1).exists()
    )
    assert Outbox.objects.filter(kind=OutboxKind.START, pool=pool).count() == starts.count()
    assert starts.count() == sum(
        Process.objects.filter(pool=pool).values_list(F("epoch"), flat=True)
    )


@pytest.mark.parametrize("seconds", SECONDS)
def test_clients_in_each_others_way_lose_nothing_and_all_come_through(
    make_pool, make_process, meanwhile, seconds
):
    pool, dice = make_pool(6, 6), random.Random(7)
    processes = [
        make_process(pool, f"p{i}", (dice.randint(2, 5), dice.randint(2, 5)))
        for i in range(CLIENTS)
    ]

    clients = [
        meanwhile(work, process=process, seed=i, seconds=seconds)
        for i, process in enumerate(processes)
    ]
    shifts = [client.result() for client in clients]

    assert all(shifts)
    nothing_is_left_over(pool)
    ledger_is_whole(pool)
