from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from allocation.errors import UnknownPool
from allocation.models import MatrixCell, Pool, Process
from allocation.rules.banker import BankVerdict
from allocation.selectors import bank_view, holdings_of, outcome_of, waits_of
from allocation.services import finish_process
from tests.allocation.conftest import ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def contended(make_pool, make_process):
    """Ten units and five others: `a` and `b` hold, `b` waits for safety, `c` waits for what is not
    there.
    """
    pool = make_pool(10, 5)
    a, b = make_process(pool, "a", (8, 0), (4, 0)), make_process(pool, "b", (8, 1), (2, 1))
    c = make_process(pool, "c", (6, 5))
    ask(b, (2, 0))
    ask(c, (5, 5), deadline_seconds=60)
    return pool, a, b, c


def test_view_shows_the_matrices_and_the_proof(contended):
    pool, *_ = contended

    view = bank_view(pool.pk)

    assert [(one.key, one.available, one.capacity) for one in view.resources] == [
        ("a", 4, 10),
        ("b", 4, 5),
    ]
    assert [(row.label, row.cells, row.state) for row in view.processes] == [
        ("a", [(4, 8, 4), (0, 0, 0)], "holding"),
        ("b", [(2, 8, 6), (1, 1, 0)], "waiting"),
        ("c", [(0, 6, 6), (0, 5, 5)], "waiting"),
    ]
    assert [(step.process.label, step.work, step.work_after) for step in view.safe_sequence] == [
        ("a", (4, 4), (8, 4)),
        ("b", (8, 4), (10, 5)),
        ("c", (10, 5), (10, 5)),
    ]


def test_view_explains_a_wait_for_what_is_not_there(contended):
    wait = bank_view(contended[0].pk).waiting[1]

    assert wait.verdict is BankVerdict.WAIT_UNAVAILABLE
    since = f"since {wait.blockers[0].since:%H:%M} UTC"
    assert wait.reason == (
        "Waits for 5 a (4 of 10 free) and 5 b (4 of 5 free). Held by a (4 a "
        f"{since}) and b (2 a and 1 b {since})."
    )
    assert [(blocker.label, blocker.key, blocker.units) for blocker in wait.blockers] == [
        ("a", "a", 4),
        ("b", "a", 2),
        ("b", "b", 1),
    ]
    assert wait.what_ends_it == "Ends with the release of 1 a and 1 b by b."
    assert (wait.position, wait.deadline is None) == (2, False)


def test_view_explains_a_wait_for_safety(contended):
    wait = bank_view(contended[0].pk).waiting[0]

    assert wait.verdict is BankVerdict.WAIT_UNSAFE
    assert wait.reason == (
        "Enough is free, but it would not be safe: after this grant b could still request 4 a "
        "with only 2 sure to be released, "
        "so a and this process could block each other forever. Held by a (4 a since "
        f"{wait.blockers[0].since:%H:%M} UTC)."
    )
    assert wait.what_ends_it == (
        "Ends with the release of a by a. Lower claims of a would make the grant safe."
    )


def test_view_names_who_is_stuck_in_an_unsafe_state(make_pool, make_process):
    pool = make_pool(10, policy="naive")
    for label, holding in (("a", 4), ("b", 4)):
        make_process(pool, label, (8,), (holding,))

    view = bank_view(pool.pk)

    assert (view.is_safe, view.safe_sequence) == (False, None)
    assert [row.label for row in view.stuck] == ["a", "b"]


def test_finished_processes_leave_the_matrices(contended):
    pool, a, *_ = contended
    finish_process(process=a.pk)

    assert "a" not in [row.label for row in bank_view(pool.pk).processes]
    assert not MatrixCell.objects.filter(process=a).exists()


def test_number_of_queries_does_not_grow_with_the_bank(
    contended, make_process, django_assert_num_queries
):
    pool = contended[0]
    with django_assert_num_queries(8):  # six, and the savepoint of a test
        bank_view(pool.pk)
    for label in "defgh":
        ask(make_process(pool, label, (6, 5)), (5, 5))

    with django_assert_num_queries(8):
        bank_view(pool.pk)


def test_who_waits_far_back_is_explained_as_in_the_whole_pool(contended, make_process):
    pool, _, b, _ = contended
    for number in range(25):
        last = make_process(pool, f"d{number}", (6, 5))
        ask(last, (5, 5))

    whole = {wait.process: wait for wait in bank_view(pool.pk).waiting}
    some = waits_of([b.pk, last.pk])

    assert {process: wait.position for process, wait in some.items()} == {b.pk: 1, last.pk: 27}
    for process, wait in some.items():
        assert (wait.reason, wait.estimate) == (whole[process].reason, whole[process].estimate)


def test_who_waits_in_front_is_explained_without_a_look_at_all_who_wait(contended, make_process):
    pool, _, b, c = contended
    for number in range(25):
        ask(make_process(pool, f"d{number}", (6, 5)), (5, 5))

    with CaptureQueriesContext(connection) as asked:
        waits_of([b.pk, c.pk])

    windows = [query["sql"] for query in asked if "row_number" in query["sql"]]
    assert [sql.endswith("LIMIT 20") for sql in windows] == [True]


def test_waits_and_holdings_of_some_processes(contended):
    _, a, b, c = contended
    everyone = [process.pk for process in Process.objects.all()]

    assert set(waits_of(everyone)) == {b.pk, c.pk}
    assert waits_of([a.pk]) == {}
    assert set(holdings_of(everyone)) == {a.pk, b.pk}
    assert [(one.key, one.units, one.since is None) for one in holdings_of([b.pk])[b.pk]] == [
        ("a", 2, False),
        ("b", 1, False),
    ]


def test_unknown_pool_and_request(db):
    with pytest.raises(UnknownPool):
        bank_view(0)
    assert outcome_of(uuid4()) is None


def test_matrix_cells_are_one_row_a_process_and_class(contended):
    cells = MatrixCell.objects.filter(process=contended[2]).values_list(
        "key", "maximum", "allocation", "need"
    )

    assert list(cells) == [("a", 8, 2, 6), ("b", 1, 1, 0)]


def test_pools_are_apart(contended, make_pool, make_process):
    other = make_pool(3, name="other")
    make_process(other, "z", (3,), (3,))

    assert len(bank_view(other.pk).processes) == 1
    assert Pool.objects.get(pk=contended[0].pk).available == [4, 4]
