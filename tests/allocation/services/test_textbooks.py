"""The textbook cases again, through the services and PostgreSQL."""

from __future__ import annotations

import pytest

from allocation.errors import RequestExceedsNeed
from allocation.models import Pool, Process
from allocation.rules.banker import BankVerdict, State
from allocation.selectors import bank_view
from tests.allocation.conftest import ask, available, held
from tests.allocation.textbook import CASES, REQUESTS, S1, Case, rows

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def bank_of(make_pool, make_process):
    """bank_of(state) is a pool in that state, reached by a start of each process."""

    def make(state: State) -> tuple[Pool, list[Process]]:
        capacity = [
            free + sum(column)
            for free, column in zip(
                state.available, zip(*state.allocation, strict=True), strict=True
            )
        ]
        pool = make_pool(*capacity)
        pairs = zip(state.maximum, state.allocation, strict=True)
        return pool, [
            make_process(pool, f"P{i}", maximum, holding)
            for i, (maximum, holding) in enumerate(pairs)
        ]

    return make


@pytest.mark.parametrize("case", [case for case in CASES if case.order], ids=lambda case: case.name)
def test_safe_state_is_reached_and_proved(bank_of, case: Case):
    pool, processes = bank_of(case.state)

    view = bank_view(pool.pk)

    assert available(pool) == case.state.available
    assert view.is_safe
    assert {step.process.id for step in view.safe_sequence} == {process.pk for process in processes}
    assert view.safe_sequence[-1].work_after == tuple(pool.capacity)


@pytest.mark.parametrize(("state", "process", "text", "answer", "left"), REQUESTS)
def test_request_is_answered_as_in_the_book(bank_of, state, process, text, answer, left):
    pool, processes = bank_of(state)
    asker, request = processes[process], rows(text)[0]

    if answer == "exceeds_need":
        with pytest.raises(RequestExceedsNeed):
            ask(asker, request)
    else:
        assert ask(asker, request).verdict is BankVerdict(answer)

    assert available(pool) == (rows(left)[0] if left else state.available)


def test_order_of_requests_matters(bank_of):
    """S1b: what was safe at first waits after another grant, and the pump serves it when it is safe
    again.
    """
    pool, p = bank_of(S1)

    assert ask(p[1], (1, 0, 2)).granted
    assert ask(p[4], (3, 3, 0)).verdict is BankVerdict.WAIT_UNAVAILABLE
    assert ask(p[0], (0, 2, 0)).verdict is BankVerdict.WAIT_UNSAFE
    assert ask(p[2], (1, 0, 0)).granted

    assert available(pool) == (1, 3, 0)


def test_papers_screen(make_pool, make_process):
    """P2: safe, then one of each of ten classes is granted."""
    pool = make_pool(*[5] * 10)
    process = make_process(pool, "process0", (1, 1, 2, 1, 1, 1, 1, 1, 1, 1))
    assert bank_view(pool.pk).is_safe

    assert ask(process, (1,) * 10).granted

    [row] = bank_view(pool.pk).processes
    assert held(process) == (1,) * 10
    assert row.need == (0, 0, 1, 0, 0, 0, 0, 0, 0, 0)
    assert available(pool) == (4,) * 10
