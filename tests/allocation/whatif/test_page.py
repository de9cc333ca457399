"""The what-if page answers without a browser."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from django.urls import reverse

from allocation.models import Event
from allocation.rules.banker import State
from allocation.services import NewClass, create_pool, keep_resources
from allocation.whatif.draft import draft_of
from allocation.whatif.examples import EXAMPLES
from allocation.whatif.sandbox import Sandbox
from tests.allocation.conftest import ask
from tests.crawling.page_tree import tree_of
from tests.crawling.pages import browser

pytestmark = [pytest.mark.django_db]
SILBERSCHATZ = EXAMPLES["silberschatz"].sandbox
COLUMNS = ["class_name", "class_units", "process_name", "process_maximum", "process_allocation"]


@pytest.fixture
def viewer():
    return browser("viewer")


@pytest.fixture
def address():
    return reverse("allocation:what_if")


def fields(sandbox: Sandbox, **more: str) -> dict[str, object]:
    """The form as a browser sends it."""
    draft = draft_of(sandbox)
    return {
        "class_name": [one.name for one in draft.classes],
        "class_units": [one.units for one in draft.classes],
        "process_name": [row.name for row in draft.rows],
        "process_maximum": [row.maximum for row in draft.rows],
        "process_allocation": [row.allocation for row in draft.rows],
        **more,
    }


def words(answer) -> str:
    return " ".join(tree_of(answer.content).main.get_text(" ").split())


def shown(answer) -> BeautifulSoup:
    assert answer.status_code == 200, words(answer)
    return tree_of(answer.content)


def typed_in(answer) -> dict[str, object]:
    """The fields that the form of the answer would send."""
    page = shown(answer)
    told = {name: [one["value"] for one in page.select(f"[name={name}]")] for name in COLUMNS}
    asker = page.select_one("#process [selected]")
    return told | {
        "process": asker.text if asker else "",
        "request": page.find(id="request")["value"],
    }


def test_each_move_answers_with_a_page_that_has_it_all(viewer, address):
    sent = fields(SILBERSCHATZ, do="request", process="P1", request="1 0 2")

    answer = viewer.post(address, sent)

    assert typed_in(answer) == {name: sent[name] for name in typed_in(answer)}
    assert "Safe after allocation, can be granted" in words(answer)
    assert shown(answer).select_one("[autofocus]")["aria-labelledby"] == "result"


def test_a_granted_request_leads_to_the_state_after_it(viewer, address):
    sent = fields(SILBERSCHATZ, do="apply", process="P1", request="1 0 2")

    answer = viewer.post(address, sent)

    assert "P1 was granted 1 A and 2 C." in words(answer)
    assert typed_in(answer)["process_allocation"][1] == "3 0 2"
    assert typed_in(answer)["class_units"] == ["2", "3", "0"]


def test_a_new_class_is_where_one_types_next(viewer, address):
    answer = viewer.post(address, fields(SILBERSCHATZ, do="add-class"))

    assert [one["id"] for one in shown(answer).select("[autofocus]")] == ["class-3-name"]


def test_what_may_not_be_granted_cannot_be_allocated(viewer, address):
    answer = viewer.post(address, fields(SILBERSCHATZ, do="apply", process="P4", request="3 3 0"))

    assert answer.status_code == 200
    assert "Nothing was allocated. Must wait: not safe after allocation." in words(answer)


def test_totals_are_read_as_totals_and_shown_as_such(viewer, address):
    sent = fields(SILBERSCHATZ, by="total") | {"class_units": ["10", "5", "7"]}

    answer = viewer.post(address, sent)

    assert typed_in(answer)["class_units"] == ["10", "5", "7"]
    available = shown(answer).select("table.textbook .available strong")
    assert [one.text for one in available] == ["3", "3", "2"]


@pytest.mark.parametrize(
    ("do", "sentence"),
    [
        ("release", "P1 cannot release 9 of A, of which it holds 2"),
        ("request", "C: 9 asked"),
        ("apply", "Nothing was allocated. Error"),
    ],
)
def test_what_cannot_be_is_refused_and_kept(viewer, address, do, sentence):
    answer = viewer.post(address, fields(SILBERSCHATZ, do=do, process="P1", request="9 0 9"))

    assert sentence in words(answer)
    assert typed_in(answer)["request"] == "9 0 9"


def test_a_mistyped_request_leaves_the_state_in_sight(viewer, address):
    answer = viewer.post(address, fields(SILBERSCHATZ, do="request", process="P1", request="1 o 2"))

    assert "Request, class B: “o” is not a whole number" in words(answer)
    assert "16 orders in which all can finish" in words(answer)


@pytest.mark.drill
def test_the_largest_state_is_judged_and_shown(viewer, address):
    n, m = 1000, 50
    maximum = tuple(tuple((i * 31 + j * 17) % 97 + 1 for j in range(m)) for i in range(n))
    allocation = tuple(
        tuple((i + j) % 2 * (units // 2) for j, units in enumerate(row))
        for i, row in enumerate(maximum)
    )
    names = tuple(f"a process with the number {i}" for i in range(n))
    large = Sandbox(
        tuple(f"class {j}" for j in range(m)), names, State((99,) * m, maximum, allocation)
    )

    answer = viewer.post(address, fields(large, do="check"))

    assert "Every process can finish" in words(answer)
    assert typed_in(answer)["process_name"] == list(names)


def test_reduced_scope_is_distrusted_where_it_would_be_wrong(viewer, address):
    unsafe = Sandbox(
        ("A",), ("P0", "P1", "P2"), State((2,), ((2,), (9,), (9,)), ((0,), (4,), (4,)))
    )

    answer = viewer.post(address, fields(unsafe, do="request", process="P0", request="1"))

    assert "Can be granted, though the state is not safe: this process can finish" in words(answer)
    assert "indeed it is wrong: the state was not safe before the request" in words(answer)


def test_a_claim_above_all_there_is_is_pointed_out(viewer, address):
    t4 = Sandbox(("A",), ("P0",), State((2,), ((3,),), ((0,),)))

    assert "P0 claims 3 of A, of which there are 2: this can never be had." in words(
        viewer.post(address, fields(t4))
    )


@pytest.fixture
def bank(make_pool, make_process):
    """alpha holds, beta waits for more."""
    pool = make_pool(10, 5)
    make_process(pool, "alpha", (8, 0), (4, 0))
    ask(make_process(pool, "beta", (8, 1), (2, 1)), (6, 0))
    return pool


def test_the_live_state_is_copied_and_left_alone(viewer, address, bank):
    before = Event.objects.count()

    answer = viewer.get(address, {"pool": bank.pk})

    page = tree_of(answer.content)
    assert [one["value"] for one in page.select("[name=process_name]")] == ["alpha", "beta"]
    assert [one["value"] for one in page.select("[name=process_allocation]")] == ["4 0", "2 1"]
    assert [one["value"] for one in page.select("[name=class_units]")] == ["4", "4"]
    assert "changes nothing there" in words(answer)
    assert Event.objects.count() == before


def test_reservations_are_left_out_of_a_copy_and_named(viewer, address, bank):
    beta = bank.processes.get(label="beta")
    keep_resources(process=beta.pk, epoch=beta.epoch, keep_seconds=600)

    answer = viewer.get(address, {"pool": bank.pk})

    assert "Not copied, as no safety depends on them: beta." in words(answer)
    assert [one["value"] for one in tree_of(answer.content).select("[name=process_name]")] == [
        "alpha"
    ]


def test_pages_of_the_bank_lead_to_a_copy_of_what_they_show(viewer, address, bank, make_pool):
    assert (
        f'href="{address}?pool={bank.pk}"' in viewer.get(bank.get_absolute_url()).content.decode()
    )
    make_pool(1, name="second")
    assert (
        f'href="{address}?pool={bank.pk}"'
        in viewer.get(reverse("allocation:pools")).content.decode()
    )


@pytest.mark.parametrize("number", ["999", "x", "-1", "9" * 30, ""])
def test_a_pool_that_is_not_there_is_not_found(viewer, address, number):
    assert viewer.get(address, {"pool": number}).status_code == 404


def test_two_processes_with_one_label_are_told_apart(viewer, address, make_pool, make_process):
    pool = make_pool(10)
    first = make_process(pool, "twin", (1,))
    third = make_process(pool, f"twin ({first.pk + 2})", (1,))
    second = make_process(pool, "twin", (1,), run_ref="the other")

    page = tree_of(viewer.get(address, {"pool": pool.pk}).content)

    assert [one["value"] for one in page.select("[name=process_name]")] == [
        "twin",
        third.label,
        f"twin ({second.pk}) ({second.pk})",
    ]


def test_a_copy_of_a_pool_names_its_classes_as_pages_do(viewer, address):
    classes = [NewClass("fetch_slots", "threads", "F.", 8), NewClass("bandwidth", "KiB/s", "B.", 9)]
    pool = create_pool(name="real", classes=classes)

    answer = viewer.get(address, {"pool": pool.pk})

    assert typed_in(answer)["class_name"] == ["fetch slots", "bandwidth (KiB/s)"]
    assert "fetch_slots" not in words(answer)
