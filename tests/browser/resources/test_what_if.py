"""The what-if page in a real browser, with and without scripts: the paper's screens by hand."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from allocation.services import register_process
from tests.browser.axe import violations
from tests.browser.test_accessible import ONE_SCREEN, SCREENS, TOO_WIDE
from tests.browser.test_keyboard import STOPS, tab_through

ONES = " ".join("1" * 10)


#: both for the whole dialogue; its parts without scripts in the drill
BOTH = pytest.mark.parametrize(
    "page", [True, False], ids=["with-scripts", "without"], indirect=True
)


@pytest.fixture(
    params=[True, pytest.param(False, marks=pytest.mark.drill)], ids=["with-scripts", "without"]
)
def page(request, browse, pool) -> Page:
    return browse("viewer", java_script_enabled=request.param)


def row(page: Page, process: str, kind: str) -> list[str]:
    """The row of a process in the allocation area: its Max, Allocation or Need."""
    body = page.locator(
        "table.textbook tbody", has=page.get_by_role("rowheader", name=process, exact=True)
    )
    return (
        body.locator("tr", has=page.get_by_role("rowheader", name=kind, exact=True))
        .locator("td")
        .all_inner_texts()
    )


def available(page: Page) -> list[str]:
    return page.locator("table.textbook .available td strong").all_inner_texts()


def result(page: Page):
    return page.locator(".verdict")


def press(page: Page, name: str) -> None:
    """Press a button, and wait for the page that answers it."""
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()


@BOTH
def test_the_paper_s_screens_by_hand(page):
    """SEEDS P2: ten classes of five, one process; its request is granted, and the state moves
    on."""
    page.goto("/resources/what-if/")
    press(page, "Remove process1")
    page.get_by_label("How many classes to add").fill("7")
    press(page, "Add classes")
    for units in page.get_by_label("Units of").all():
        units.fill("5")
    page.get_by_label("Max of process0").fill("1 1 2 1 1 1 1 1 1 1")
    press(page, "Safety check")

    expect(result(page)).to_contain_text("Safe")
    assert available(page) == ["5"] * 10

    page.get_by_label("How much of each class").fill(ONES)
    press(page, "Request resources")
    expect(result(page)).to_contain_text("Safe after allocation, can be granted")
    assert available(page) == ["5"] * 10

    press(page, "Allocate, and continue from there")
    expect(page.locator(".message.success")).to_contain_text("process0 was granted")
    assert available(page) == ["4"] * 10
    assert row(page, "process0", "Max") == ["1", "1", "2", "1", "1", "1", "1", "1", "1", "1"]
    assert row(page, "process0", "Allocation") == ["1"] * 10
    assert row(page, "process0", "Need") == ["0", "0", "1", "0", "0", "0", "0", "0", "0", "0"]


def test_after_an_error_one_may_ask_again_or_stop(page):
    page.goto("/resources/what-if/?example=silberschatz")
    amounts = page.get_by_label("How much of each class")
    amounts.fill("1 0 3")
    press(page, "Request resources")
    expect(result(page)).to_contain_text("Error: more than it may still need")
    expect(result(page)).to_contain_text("C: 3 asked, at most 2")
    expect(amounts).to_have_value("1 0 3")

    amounts.fill("1 0 2")
    press(page, "Request resources")
    expect(result(page)).to_contain_text("can be granted")

    press(page, "Safety check")
    amounts.fill("9 9 9")
    press(page, "Request resources")
    press(page, "Stop: withdraw the request")
    expect(amounts).to_have_value("")
    expect(result(page)).to_contain_text("Safe")


def test_a_wait_is_explained(page):
    page.goto("/resources/what-if/?example=silberschatz")
    page.get_by_label("Who").select_option("P4")
    page.get_by_label("How much of each class").fill("3 3 0")
    press(page, "Request resources")
    expect(result(page)).to_contain_text("Must wait: not safe after allocation")
    expect(result(page)).to_contain_text("could block each other forever")

    page.get_by_label("Who").select_option("P0")
    page.get_by_label("How much of each class").fill("4 0 0")
    press(page, "Request resources")
    expect(result(page)).to_contain_text("Must wait: not enough is available")
    expect(result(page)).to_contain_text("Held by P2 (3 A)")


def test_units_come_back_and_processes_finish(page):
    page.goto("/resources/what-if/?example=silberschatz")
    page.get_by_label("Who").select_option("P2")
    page.get_by_label("How much of each class").fill("1 0 0")
    press(page, "Give these back")
    assert available(page) == ["4", "3", "2"]

    page.get_by_label("Who").select_option("P2")
    press(page, "Finish, releasing all")
    assert available(page) == ["6", "3", "4"]
    expect(page.get_by_label(re.compile("^Process "))).to_have_count(4)


def test_the_paper_s_single_class_is_safe_by_other_orders_than_it_says(page):
    """SEEDS P3 with its erratum."""
    page.goto("/resources/what-if/?example=p3")

    expect(page.locator(".sequences li")).to_have_text(["P2, P3, P1, P4", "P2, P3, P4, P1"])
    expect(page.locator(".looks tbody tr").first).to_have_text(
        re.compile(r"1 P1\s*7 > 2\s*not yet")
    )


def test_a_mistyped_number_is_named_and_everything_typed_is_kept(page):
    page.goto("/resources/what-if/?example=silberschatz")
    page.get_by_label("Max of P1").fill("3 2x 2")
    page.get_by_label("Process 1").fill("Ann")
    press(page, "Safety check")

    expect(page.get_by_role("alert")).to_contain_text(
        "Max of P1, class B: “2x” is not a whole number from 0 up. Use digits only."
    )
    expect(page.get_by_label("Max of P1")).to_have_value("3 2x 2")
    expect(page.get_by_label("Max of P1")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Process 1")).to_have_value("Ann")


def test_return_checks_and_every_stop_of_tab_shows(browse, pool):
    page = browse("viewer", "/resources/what-if/?example=silberschatz")

    stops, unseen = tab_through(page)
    assert stops == page.evaluate(STOPS)
    assert unseen == []

    page.get_by_label("How much of each class").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("7 7 7")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.get_by_label("How much of each class")).to_have_value("7 7 7")
    page.get_by_role("button", name="Request resources").focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(result(page)).to_contain_text("Error: more than it may still need")


#: boxes whose right end is hidden, and safe orders that lie over the one before
CUT = """() => [
  [...document.querySelectorAll(".what-if .scroll")]
    .filter((one) => one.scrollWidth > one.clientWidth + 1).length,
  [...document.querySelectorAll(".sequences li")]
    .map((one) => one.getBoundingClientRect())
    .filter((box, place, all) => place && box.top < all[place - 1].bottom - 1).length,
]"""


def test_nothing_collides_or_is_cut_from_the_width_of_a_tablet_on(browse, pool):
    for number in range(5):
        label = f"A crawl with a longer name, {number}"
        register_process(pool=pool.pk, label=label, run_ref="", maximum={"bandwidth": 60_000})
    page = browse("viewer", f"/resources/what-if/?pool={pool.pk}")

    expect(page.get_by_text("120 orders in which all can finish. The first 5:")).to_be_visible()
    assert page.locator(".sequences li").count() == 5
    for width in (1024, 1280, 1440, 1761, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(CUT) == [0, 0], width


#: whether the whole of an element is in the window
IN_VIEW = """(one) => { const box = one.getBoundingClientRect();
  return box.top >= 0 && box.bottom <= innerHeight; }"""


@pytest.mark.parametrize("width", [1440, 390])
def test_of_many_processes_question_and_answer_stay_in_view_and_the_rest_folds(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/resources/what-if/")
    page.get_by_label("How many processes to add").fill("23")
    press(page, "Add processes")

    fold = page.locator("details.fold", has_text="25 processes")
    expect(fold).to_have_attribute("open", "")  # they were just added
    fold.get_by_label("Max of process24").fill("1 0 x")
    press(page, "Safety check")
    expect(fold.get_by_label("Max of process24")).to_be_visible()  # its mistake is named above
    fold.get_by_label("Max of process24").fill("0 0 0")
    fold.get_by_label("Max of process0").fill("4 0 0")
    page.get_by_label("Units of R0").fill("6")
    page.get_by_label("How much of each class").fill("1 0 0")
    press(page, "Request resources")

    expect(result(page)).to_be_visible()
    expect(page.get_by_role("region", name="Result")).to_be_focused()
    assert result(page).evaluate(IN_VIEW)
    expect(fold).not_to_have_attribute("open", "")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("document.documentElement.scrollHeight") < 2_400
    if width == 1440:
        assert page.get_by_role("button", name="Request resources").evaluate(IN_VIEW)
    box = page.get_by_label("Available, Allocation, Max and Need")
    head = box.get_by_role("columnheader", name="Process")
    before = head.bounding_box()["y"] - box.bounding_box()["y"]
    box.evaluate("one => one.scrollTop = 400")
    assert abs(head.bounding_box()["y"] - box.bounding_box()["y"] - before) < 1
    page.get_by_text("25 processes").click()
    page.get_by_text("step by step").click()
    assert violations(page) == []


@pytest.mark.parametrize("screen", ONE_SCREEN)
def test_nothing_for_axe_to_find_and_nothing_to_scroll_sideways_for(browse, pool, screen):
    page = browse("viewer", **SCREENS[screen])
    addresses = ["/resources/what-if/", f"/resources/what-if/?pool={pool.pk}"]
    addresses += [
        f"/resources/what-if/?example={key}" for key in ("p2", "p3", "silberschatz", "tanenbaum")
    ]

    for address in addresses:
        page.goto(address)
        assert violations(page) == [], address
        assert page.evaluate(TOO_WIDE) <= 0, address
    page.get_by_label("How many classes to add").fill("9")
    press(page, "Add classes")
    page.get_by_label("How many processes to add").fill("6")
    press(page, "Add processes")
    for amounts in (ONES, "9", "x"):
        page.get_by_label("How much of each class").fill(amounts)
        press(page, "Request resources")
        assert violations(page) == [], amounts
        assert page.evaluate(TOO_WIDE) <= 0, amounts
