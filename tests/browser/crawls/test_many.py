"""The list of crawls at every width, and many crawls at once."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from crawling.models import CrawlJob, Run, RunTotal
from crawling.runs.endings import ALL_DONE
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


@pytest.mark.parametrize("width", [1280, 1440])
def test_a_row_has_a_second_line_for_a_reason_only(many, operator: Page, width):
    Run.objects.filter(crawl__name="Beta").update(state="finished", reason=ALL_DONE)
    operator.set_viewport_size({"width": width, "height": 900})
    operator.goto("/crawls/")

    rows = operator.locator("tbody").evaluate_all(
        "all => all.map((one) => [one.querySelector('.name').textContent, one.offsetHeight])"
    )
    actions = operator.get_by_role("link", name="Download: Beta").bounding_box()
    name = operator.get_by_role("link", name="Beta", exact=True).bounding_box()

    heights = dict(rows)
    assert heights["Beta"] <= 40 < heights["Alpha"] <= 64
    assert abs(actions["y"] + actions["height"] / 2 - name["y"] - name["height"] / 2) < 4
    expect(operator.get_by_role("row", name="Choose Beta")).to_contain_text(
        "/collections/of/a/town"
    )


@pytest.mark.parametrize("scripts", [True, False])
def test_what_is_done_to_many_is_shown_once_something_is_chosen_and_moves_nothing(
    many, browse, scripts
):
    page = browse("operator", "/crawls/", java_script_enabled=scripts)
    bar, box = page.get_by_role("form", name="Act on many crawls"), page.get_by_label("Choose Beta")
    places = [page.locator(one) for one in ("tfoot", "tbody >> nth=2", "footer")]
    before = [place.bounding_box() for place in places]
    expect(bar).to_be_hidden()
    box.focus()
    page.keyboard.press("Space")

    expect(bar).to_be_visible()
    assert [place.bounding_box() for place in places] == before
    bar.get_by_role("button", name="Clear").click()
    expect(box).not_to_be_checked()
    expect(bar).to_be_hidden()


def test_between_laptop_and_tablet_a_row_shows_what_can_be_done_to_it_when_it_is_at_hand(
    many, operator: Page
):
    operator.set_viewport_size({"width": 1100, "height": 900})
    operator.goto("/crawls/")
    actions = operator.locator("tbody", has_text="Beta").locator(".actions")

    expect(actions).to_have_css("opacity", "0")
    operator.get_by_role("link", name="Beta", exact=True).focus()
    expect(actions).to_have_css("opacity", "1")
    operator.mouse.move(0, 0)
    operator.get_by_role("link", name="Alpha", exact=True).hover()
    expect(operator.locator("tbody", has_text="Alpha").locator(".actions")).to_have_css(
        "opacity", "1"
    )


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
    name = operator.locator("tbody .name").first
    expect(name).to_have_text("Alpha")
    before = name.bounding_box()
    name.hover()
    assert name.bounding_box() == before


def test_without_a_pointer_the_actions_of_a_row_cover_nothing_of_it(browse, make_web, user_of):
    for name in ("Alpha", "Beta"):
        start_run(make_crawl(name, make_web().url, by=user_of("operator")))
    page = browse("operator", "/crawls/", has_touch=True, is_mobile=True)

    expect(page.locator(".below .word").first).to_be_visible()
    overlaps = page.evaluate(
        """() => [...document.querySelectorAll(".all-crawls tbody")].map((body) => {
          const under = body.querySelector("tr:not(.below)").getBoundingClientRect();
          return under.bottom - body.querySelector(".actions").getBoundingClientRect().top;
        })"""
    )

    assert len(overlaps) == 2
    assert max(overlaps) <= 0


def test_the_word_of_a_row_action_stands_beside_it_under_pointer_and_focus(operator: Page, many):
    operator.goto("/crawls/")
    button = operator.get_by_role("button", name="Delete: Alpha")

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
