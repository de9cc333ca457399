"""In a hand: all places are in the bar, and what scrolls says so; on any screen a box that does not
scroll is no stop of Tab.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.house import furnish

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
PLACES = ["Overview", "Crawls", "Search", "Hosts", "Resources", "System"]
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
    assert [box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes] == [True] * 6
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
