from __future__ import annotations

from uuid import uuid4

import pytest

from allocation.errors import (
    AlreadyStarted,
    AlreadyWaiting,
    BadAmount,
    BadDeadline,
    EmptyRequest,
    ProcessFinished,
    RequestExceedsNeed,
    RequestIdReused,
    StaleEpoch,
    UnknownProcess,
    UnknownResource,
)
from allocation.models import Event, EventKind, Outbox, OutboxKind, Request, RequestState
from allocation.rules.banker import BankVerdict
from allocation.services import cancel_request, finish_process, request_resources
from tests.allocation.conftest import ask, available, held

pytestmark = pytest.mark.django_db


def test_granted_start_begins_a_shift_and_says_so_in_the_outbox(make_pool, make_process):
    pool = make_pool(10)
    process = make_process(pool, "p", (4,))

    outcome = ask(process, (3,))

    process.refresh_from_db()
    assert outcome.granted
    assert (outcome.epoch, process.epoch, process.worker) == (1, 1, "")
    assert process.lease_until is not None
    assert (held(process), available(pool)) == ((3,), (7,))
    message = Outbox.objects.get()
    assert (message.kind, message.process, message.epoch) == (OutboxKind.START, process, 1)


def test_request_over_need_is_an_error_that_the_ledger_keeps(make_pool, make_process):
    pool = make_pool(10, 10)
    process = make_process(pool, "p", (4, 4))

    with pytest.raises(RequestExceedsNeed, match="b: 5 asked, at most 4"):
        ask(process, (4, 5))

    assert Event.objects.filter(kind=EventKind.REJECTED, process=process).exists()
    assert held(process) == (0, 0)


def test_asker_may_ask_again_after_an_error(make_pool, make_process):
    process = make_process(make_pool(10), "p", (4,))
    with pytest.raises(RequestExceedsNeed):
        ask(process, (5,))

    assert ask(process, (4,)).granted


def test_rejected_request_sent_again_is_rejected_again(make_pool, make_process):
    process = make_process(make_pool(10), "p", (4,))
    again = uuid4()
    for _ in range(2):
        with pytest.raises(RequestExceedsNeed, match="a: 5 asked"):
            ask(process, (5,), request_id=again)

    assert Event.objects.filter(kind=EventKind.REJECTED).count() == 1


def test_request_over_available_waits_and_names_class_units_and_holder(make_pool, make_process):
    pool = make_pool(10)
    make_process(pool, "greedy", (9,), (9,))
    process = make_process(pool, "patient", (4,))

    outcome = ask(process, (3,))

    assert outcome.verdict is BankVerdict.WAIT_UNAVAILABLE
    assert outcome.reason == "Waits for 3 a (1 of 10 free). Held by greedy (9 a)."
    assert held(process) == (0,)


def test_request_that_would_be_unsafe_waits_and_changes_nothing(make_pool, make_process):
    pool = make_pool(10)
    make_process(pool, "a", (8,), (4,))
    b = make_process(pool, "b", (8,), (2,))

    outcome = ask(b, (2,))

    assert outcome.verdict is BankVerdict.WAIT_UNSAFE
    assert "b could still request 4 a with only 2 sure to be released" in outcome.reason
    assert "Held by a (4 a)" in outcome.reason
    assert (held(b), available(pool)) == ((2,), (4,))


def test_naive_pool_grants_what_is_available_even_if_unsafe(make_pool, make_process):
    pool = make_pool(10, policy="naive")
    make_process(pool, "a", (8,), (4,))
    b = make_process(pool, "b", (8,), (2,))

    assert ask(b, (2,)).granted


def test_same_request_id_returns_the_stored_outcome(make_pool, make_process):
    pool = make_pool(10)
    process = make_process(pool, "p", (4,))
    again = uuid4()

    first, second = (
        ask(process, (3,), request_id=again),
        ask(process, (3,), request_id=again, kind="start"),
    )

    assert first == second
    assert held(process) == (3,)


def test_request_id_of_another_request_is_refused(make_pool, make_process):
    pool = make_pool(10)
    p, q = make_process(pool, "p", (4,)), make_process(pool, "q", (4,))
    used = ask(p, (3,)).request_id

    with pytest.raises(RequestIdReused):
        ask(q, (3,), request_id=used)


def test_second_request_while_one_waits_is_refused(make_pool, make_process):
    pool = make_pool(2)
    make_process(pool, "greedy", (2,), (2,))
    process = make_process(pool, "p", (2,))
    ask(process, (1,))

    with pytest.raises(AlreadyWaiting):
        ask(process, (2,))


def test_stage_takes_the_place_of_a_growth_that_waits(make_pool, make_process):
    pool = make_pool(4, 2)
    make_process(pool, "other", (3, 0), (3, 0))
    process = make_process(pool, "p", (4, 2), (1, 0))
    growth = ask(process, (2, 0))

    stage = ask(process, (0, 2), kind="stage", epoch=1)

    assert stage.granted
    assert Request.objects.get(pk=growth.request_id).state == RequestState.CANCELLED


def test_start_is_refused_while_a_shift_lives(make_pool, make_process):
    process = make_process(make_pool(4), "p", (4,), (1,))

    with pytest.raises(AlreadyStarted):
        ask(process, (1,), kind="start")


@pytest.mark.parametrize("epoch", [None, 0, 2])
def test_growth_needs_the_epoch_of_the_live_shift(make_pool, make_process, epoch):
    process = make_process(make_pool(4), "p", (4,), (1,))

    with pytest.raises(StaleEpoch):
        ask(process, (1,), kind="growth", epoch=epoch)


@pytest.mark.parametrize(
    ("amounts", "error"),
    [
        ({"x": 1}, UnknownResource),
        ({"a": -1}, BadAmount),
        ({"a": True}, BadAmount),
        ({"a": 1.5}, BadAmount),
        ({"a": 0}, EmptyRequest),
    ],
)
def test_nonsense_is_refused_by_name_and_nothing_is_kept(make_pool, make_process, amounts, error):
    process = make_process(make_pool(4), "p", (4,))

    with pytest.raises(error):
        request_resources(process=process.pk, amounts=amounts, request_id=uuid4())

    assert not Request.objects.exists()


def test_unknown_process_and_senseless_deadline_are_refused(make_pool, make_process):
    process = make_process(make_pool(4), "p", (4,))

    with pytest.raises(UnknownProcess):
        request_resources(process=0, amounts={"a": 1}, request_id=uuid4())
    with pytest.raises(BadDeadline):
        ask(process, (1,), deadline_seconds=0)


def test_finished_process_asks_no_more(make_pool, make_process):
    process = make_process(make_pool(4), "p", (4,), (1,))
    finish_process(process=process.pk)

    with pytest.raises(ProcessFinished):
        ask(process, (1,))


def test_cancelled_request_waits_no_more_but_a_granted_one_stays(make_pool, make_process):
    pool = make_pool(2)
    granted = ask(make_process(pool, "holder", (2,)), (2,))
    process = make_process(pool, "p", (2,))
    waiting = ask(process, (1,))

    assert cancel_request(request_id=granted.request_id).granted
    assert cancel_request(request_id=waiting.request_id).state == RequestState.CANCELLED
    assert ask(process, (2,)).verdict is BankVerdict.WAIT_UNAVAILABLE
