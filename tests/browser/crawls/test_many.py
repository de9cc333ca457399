"""The list of crawls at every width, and many crawls at once."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from crawling.models import CrawlJob, Run, RunTotal
from crawling.runs.start import start_run
from tests.browser.house import make_crawl

WIDTHS = (1024, 1100, 1280, 1366, 1440, 1600, 1920)
REASON = "No page could be fetched: the host's name does not exist (1,900 of 2,000 URLs)."


@pytest.fixture
def many(make_web) -> list[CrawlJob]:
    """Crawls with long names, addresses, numbers and reasons."""
    crawls = [
        make_crawl(name, "http://127.0.0.1:8900/collections/of/a/town/library/index.html")
        for name in ("Alpha", "Beta", "C" * 90)
    ]
    for crawl in crawls:
        run = Run.objects.create(
            crawl=crawl, number=12, state="failed", is_latest=True, reason=REASON
        )
        RunTotal.objects.filter(run=run).delete()
        RunTotal.objects.create(run=run, failed=1_900_000, discovered=12_000_000, fetched=9_000_000)
    return crawls


@pytest.mark.parametrize("width", WIDTHS)
def test_the_list_fits_its_window_and_no_reason_is_cut(many, operator: Page, width):
    operator.set_viewport_size({"width": width, "height": 900})
    operator.goto("/crawls/")

    page, box = operator.evaluate(
        """() => { const box = document.querySelector('.scroll'), root = document.documentElement;
        return [root.scrollWidth - root.clientWidth, box.scrollWidth - box.clientWidth]; }"""
    )
    reason = operator.locator(".reason").first

    assert (page, box) == (0, 0)
    expect(reason).to_have_text(REASON)
    assert reason.evaluate("one => one.scrollWidth <= one.clientWidth || !one.clientWidth")


def test_in_a_hand_crawls_are_cards_that_sort_with_words_on_their_buttons(operator: Page, many):
    operator.set_viewport_size({"width": 390, "height": 844})
    operator.goto("/crawls/")

    expect(operator.locator(".below .word").first).to_be_visible()
    sizes = operator.locator(".below .actions > *, .tick").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect()).map((one) => [one.width, one.height])"
    )
    operator.get_by_label("Sort by").select_option("name")
    with operator.expect_navigation():
        operator.get_by_role("button", name="Sort", exact=True).click()

    assert min(min(size) for size in sizes if size[0]) >= 24
    assert operator.evaluate("document.documentElement.scrollWidth") == 390
    expect(operator.locator("tbody .name").first).to_have_text("Alpha")


def test_the_word_of_a_row_action_stands_beside_it_under_pointer_and_focus(operator: Page, many):
    operator.goto("/crawls/")
    button = operator.get_by_role("link", name="Delete: Alpha")

    expect(button.locator(".word")).to_be_hidden()
    button.hover()
    expect(button.locator(".word")).to_be_visible()
    operator.mouse.move(0, 0)
    button.focus()
    expect(button.locator(".word")).to_be_visible()


def test_one_box_chooses_the_page_and_one_click_schedules_it(operator: Page, many):
    operator.goto("/crawls/")

    operator.get_by_label("Choose all on this page").check()
    expect(operator.get_by_label("Which crawls")).to_contain_text("3 selected")
    with operator.expect_navigation():
        operator.get_by_role("button", name="Schedule").click()

    expect(operator.get_by_role("heading", level=1)).to_have_text("Schedule 3 crawls")


def test_a_message_goes_when_the_crawl_is_in_another_state_than_it_announces(
    operator: Page, make_web
):
    crawl = make_crawl("Alpha", "http://127.0.0.1:8900/")
    start_run(crawl)
    operator.goto("/crawls/")
    with operator.expect_navigation():
        operator.get_by_role("button", name="Pause: Alpha").click()
    message = operator.locator(".message.flash")
    expect(message).to_contain_text("Undo")

    Run.objects.filter(crawl=crawl).update(state="failed", reason=REASON)

    expect(message).to_have_count(0)
