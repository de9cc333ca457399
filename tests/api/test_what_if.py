"""Hypothetical requests to a copy of the live pool and to states from the textbooks."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User

from allocation.models import Event, Pool, Process
from allocation.services import keep_resources
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawlsite.administration.accounts import make_roles
from crawlsite.tokens import make_token
from tests.allocation.textbook import CASES, P3, REQUESTS, rows
from tests.api.conftest import Program
from tests.crawling.conftest import allowed_loopback, order_of, the_pool

CLAIM = {"worker": 1, "fetch_slots": 8, "bandwidth": 60_000, "memory": 64, "dns_slots": 4}


@pytest.fixture(scope="module")
def token(shared):
    return shared.do(furnished)


def furnished():
    """One process that holds most of the bandwidth, and one that waits for it; the token of an
    operator.
    """
    the_pool()
    allowed_loopback()
    claim = {"bandwidth": 60_000}
    for name, port in (("holder", 8901), ("waiter", 8902)):
        start_run(create_crawl(order_of(f"http://127.0.0.1:{port}/", name=name, claim=claim)))
    make_roles()
    operator = User.objects.create_user("operator")
    operator.groups.set(Group.objects.filter(name="operator"))
    return make_token(operator, "tests")


@pytest.fixture
def operator(token, db):
    return Program(token)


@pytest.fixture
def bank(operator):
    return operator.get(f"pools/{Pool.objects.get().pk}")


@pytest.fixture
def what_if(operator, bank):
    """Return a function that asks and makes sure that nothing came of it."""

    def ask(**question):
        before = operator.get(f"pools/{bank['id']}"), Event.objects.count()
        answer = operator("POST", f"pools/{bank['id']}/what-if", question)
        assert (operator.get(f"pools/{bank['id']}"), Event.objects.count()) == before
        return answer

    return ask


def test_a_request_by_a_live_process_is_judged_on_a_copy(what_if, bank):
    holder, waiter = bank["processes"]

    status, answer = what_if(process=holder["id"], request={"fetch_slots": 1})

    assert (status, answer["verdict"], answer["is_safe"]) == (200, "grant", True)
    assert answer["safe_sequence"] == [holder["id"], waiter["id"]]
    assert answer["steps"][0] == {
        "process": holder["id"],
        "work": [bank["available"][0], bank["available"][1] - 1, *bank["available"][2:]],
    }
    assert answer["reason"] == "Granted: every process can still finish."


def test_who_waits_is_told_why_by_name(what_if, bank):
    waiter = bank["processes"][1]

    status, answer = what_if(process=waiter["id"], request=[0, 0, 60_000, 0, 0, 0])

    assert (status, answer["verdict"]) == (200, "wait_unavailable")
    assert "(40,000 of 100,000 free). Held by holder" in answer["reason"]


def test_more_than_declared_is_an_error_after_which_one_may_ask_again(what_if, bank):
    _, answer = what_if(process=bank["processes"][1]["id"], request={"bandwidth": 70_000})

    assert answer["verdict"] == "exceeds_need"
    assert answer["reason"].startswith(
        "More than the process declared: bandwidth: 70,000 asked, at most 60,000."
    )
    assert answer["reason"].endswith("It may ask again for less, or stop.")


def test_a_process_that_is_not_there_may_ask_too(what_if):
    newcomer = {"name": "newcomer", "maximum": CLAIM, "allocation": {"bandwidth": 20_000}}

    _, small = what_if(add=[newcomer], process="newcomer", request={"worker": 1})
    _, unsafe = what_if(add=[newcomer], process="newcomer", request={"bandwidth": 20_001})

    assert (small["verdict"], small["safe_sequence"][-1]) == ("grant", "newcomer")
    assert (unsafe["verdict"], unsafe["is_safe"]) == ("wait_unavailable", True)


def test_a_grant_that_would_let_two_block_each_other_waits(what_if):
    add = [
        {"name": name, "maximum": {"dns_slots": 64}, "allocation": {"dns_slots": 20}}
        for name in ("a", "b")
    ]

    _, answer = what_if(add=add, process="a", request={"dns_slots": 1})

    assert (answer["verdict"], answer["is_safe"], answer["safe_sequence"], answer["steps"]) == (
        "wait_unsafe",
        False,
        None,
        None,
    )
    assert "b" in answer["reason"]


def test_without_a_request_the_copy_itself_is_judged(what_if, bank):
    status, answer = what_if()

    assert (status, answer["verdict"], answer["is_safe"], answer["safe_sequence"]) == (
        200,
        None,
        True,
        bank["safe_sequence"],
    )


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ({"process": 1}, "go together"),
        ({"process": 10**9, "request": [0] * 6}, "there is no 1000000000"),
        ({"process": "x", "request": [0] * 6}, "there is no x"),
        ({"add": [{"name": "x", "maximum": [1]}]}, "1 numbers for 6 classes"),
        ({"add": [{"name": "x", "maximum": {"gold": 1}}]}, "the pool has no class gold"),
        ({"add": [{"name": "x", "maximum": {"worker": 99}}]}, "claims more than there is"),
        (
            {
                "add": [
                    {
                        "name": "x",
                        "maximum": {"bandwidth": 50_000},
                        "allocation": {"bandwidth": 50_000},
                    }
                ]
            },
            "what is available",
        ),
        (
            {"add": [{"name": "x", "maximum": {}, "allocation": {"worker": 1}}]},
            "at most its maximum",
        ),
        ({"add": [{"name": "x", "maximum": {}}] * 2}, "same name"),
        ({"process": True, "request": {}}, "process"),
        ({"nonsense": 1}, "nonsense"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_a_sentence(what_if, question, sentence):
    status, problem = what_if(**question)

    assert status == 422
    assert sentence in problem["detail"]


def test_who_pauses_with_a_reservation_asks_for_nothing_and_its_units_stay_out_of_reach(
    operator, bank
):
    holder, waiter = bank["processes"]
    keep_resources(
        process=holder["id"], epoch=Process.objects.get(pk=holder["id"]).epoch, keep_seconds=600
    )

    status, problem = operator(
        "POST", f"pools/{bank['id']}/what-if", {"process": holder["id"], "request": [1, 0, 0, 0, 0]}
    )
    _, answer = operator(
        "POST",
        f"pools/{bank['id']}/what-if",
        {"process": waiter["id"], "request": {"bandwidth": 60_000}},
    )

    assert (status, problem["detail"]) == (
        422,
        "process: holder pauses with a reservation; it asks for nothing until it is resumed.",
    )
    assert answer["verdict"] == "wait_unavailable"


def test_a_pool_that_is_not_there_is_not_found(operator):
    assert operator("POST", "pools/999/what-if", {})[0] == 404


def asked(state, **request):
    """The body of a question about a state."""
    return {
        "available": state.available,
        "maximum": state.maximum,
        "allocation": state.allocation,
        **request,
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_textbook_states_are_judged_as_in_the_books(operator, case):
    _, answer = operator("POST", "banker/check", asked(case.state))

    assert answer["is_safe"] == (case.order is not None)
    assert answer["safe_sequence"] is None or answer["steps"][0]["work"] == list(
        case.state.available
    )


@pytest.mark.parametrize(("state", "process", "text", "verdict", "left"), REQUESTS)
def test_textbook_requests_are_answered_as_in_the_books(
    operator, state, process, text, verdict, left
):
    _, answer = operator(
        "POST", "banker/check", asked(state, process=process, request=rows(text)[0])
    )

    assert answer["verdict"] == verdict
    assert left is None or answer["steps"][0]["work"] == list(rows(left)[0])


def test_the_paper_s_safe_sequence_is_none_but_another_is(operator):
    """SEEDS P3's erratum: P1 still needs 7 of the 2 that are free."""
    _, answer = operator("POST", "banker/check", asked(P3))

    assert (answer["is_safe"], answer["safe_sequence"]) == (True, [1, 2, 3, 0])
    assert answer["steps"][0] == {"process": 1, "work": [2]}


def test_names_of_classes_and_processes_stand_in_the_answer(operator):
    question = asked(P3, classes=["tape"], processes=["Ann", "Bob", "Cy", "Di"])

    _, answer = operator("POST", "banker/check", {**question, "process": 0, "request": [3]})

    assert answer["verdict"] == "wait_unavailable"
    assert "Held by Bob (4 tape)" in answer["reason"]
    assert operator("POST", "banker/check", {**question, "processes": ["Ann"]})[0] == 422
