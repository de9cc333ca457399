"""Every page has a frame, on a phone, too, and the form of an order helps while it is filled in."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from allocation.models import Pool
from tests.browser.house import furnish

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
PLACES = ["Overview", "Crawls", "Collections", "Search", "Hosts", "Resources", "System"]
#: boxes that scroll, and those that Tab stops at
BOXES = """() => {
  const boxes = [...document.querySelectorAll("main .scroll[tabindex]")];
  const scrolls = (one) =>
    one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1;
  const stops = boxes.filter((one) => one.tabIndex === 0);
  return [boxes.filter(scrolls).length, stops.length, boxes.length];
}"""
#: two shadows, and what covers them at the ends
EDGE = "one => getComputedStyle(one).backgroundImage.split('linear-gradient').length - 1"


@pytest.mark.parametrize("width", [390, 1440])
def test_the_menu_is_opened_and_closed_by_keyboard_and_the_frame_leaves_the_page_its_place(
    browse, width
):
    page = browse("administrator", "/crawls/")
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_function("width => innerWidth === width", arg=width)
    frame = page.locator("header.site").bounding_box()
    assert frame["height"] < 100 if width == 390 else frame["width"] < 230

    summary = page.locator("header.site details.menu summary")
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="Alerts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Alerts")).to_be_hidden()
    expect(summary).to_be_focused()


def test_an_alarm_comes_and_goes_while_a_page_is_open_even_in_use(operator, pool):
    operator.goto("/crawls/")
    operator.evaluate("document.body.dataset.mark = 'not reloaded'")
    Pool.objects.filter(pk=pool.pk).update(is_safe=False)
    expect(operator.locator("#alarms [data-alarm]")).to_contain_text("Not safe")

    Pool.objects.filter(pk=pool.pk).update(is_safe=True)
    expect(operator.locator("#alarms [data-alarm]")).to_have_count(0)
    assert operator.evaluate("document.body.dataset.mark") == "not reloaded"


def answer(page: Page, label: str, text: str) -> None:
    """Type and leave the field, as people do."""
    page.get_by_label(label, exact=True).fill(text)
    page.keyboard.press("Tab")


def test_a_form_tells_mistakes_sums_and_an_estimate_as_it_is_filled_in(operator, make_web):
    operator.goto("/crawls/new/")
    answer(operator, "Start URLs", make_web().url)
    answer(operator, "Pages", "many")
    pages = operator.get_by_label("Pages", exact=True)
    expect(pages).to_have_accessible_description(re.compile("whole number"))
    expect(operator.get_by_label("Depth", exact=True)).not_to_have_attribute("aria-invalid", "true")

    answer(operator, "Pages", "120")
    expect(pages).not_to_have_attribute("aria-invalid", "true")
    expect(operator.locator("#estimate")).to_contain_text(
        re.compile("Minimum duration.*2 minutes.*120 pages.*Reserves at most.*8 connections", re.S)
    )

    section = operator.locator("[data-section=budget]")
    section.locator("summary").first.click()
    answer(operator, "Pages per host", "7")
    expect(section.locator(".told")).to_have_text("Pages per host: 7")


@pytest.mark.parametrize(
    ("address", "title"), [("/login/", "Log in"), ("/login/?ended=1", "Your session has ended")]
)
@pytest.mark.parametrize("width", [390, 1440])
def test_the_log_in_is_a_card_in_the_middle_with_the_logo(browse, db, address, title, width):
    page = browse(None, address, viewport={"width": width, "height": 844})

    expect(page.get_by_role("heading", name=title)).to_be_visible()
    card = page.locator("article.log-in").bounding_box()
    assert abs(card["x"] + card["width"] / 2 - width / 2) <= 1
    assert abs(card["y"] + card["height"] / 2 - 844 / 2) <= 2
    assert page.locator("article img").evaluate("one => one.complete && one.naturalWidth > 0")


@pytest.fixture
def crawl(make_web, user_of):
    web = make_web()
    web.enough.set()
    return furnish(web.url, by=user_of("operator"))


def test_all_places_are_in_the_bar_of_a_phone_on_one_line(browse, pool):
    page = browse("viewer", "/", **PHONE)

    boxes = [
        page.locator(".places").get_by_role("link", name=name, exact=True).bounding_box()
        for name in PLACES
    ]
    assert [box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes] == [True] * 7
    assert len({box["y"] for box in boxes}) == 1
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("header.site").bounding_box()["height"] < 80
    expect(page.get_by_label("Pause refresh")).to_be_visible()


@pytest.mark.parametrize("screen", [PHONE, {}], ids=["hand", "desk"])
def test_a_box_is_a_stop_of_tab_only_while_it_scrolls(browse, crawl, screen):
    page = browse("operator", f"/crawls/{next(iter(crawl.values())).pk}/", **screen)

    scrolling, stops, boxes = page.evaluate(BOXES)
    assert boxes
    assert stops == scrolling
    page.set_viewport_size({"width": 320, "height": 640})
    page.wait_for_function(f"(([a, b]) => a === b && a > {scrolling - 1})(({BOXES})())")


def test_a_box_that_scrolls_has_shadows_where_there_is_more(browse, crawl):
    page = browse("viewer", "/crawls/", **PHONE)

    assert page.locator("main .scroll").first.evaluate(EDGE) == 4


def test_on_a_phone_users_show_their_roles_and_what_can_be_done(browse, user_of):
    user_of("operator")
    page = browse("administrator", "/administration/users/", **PHONE)

    row = page.get_by_role("row", name="operator")
    for one in (row.get_by_label("Role of"), row.get_by_role("button", name="Lock operator")):
        box = one.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
