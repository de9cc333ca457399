"""The design as a browser shows it: few sizes of type, one button that a page is for."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.house import furnish

SIZES = {"12px", "13px", "15px", "18px", "24px"}
SIZES_SHOWN = """() => [...new Set([...document.querySelectorAll('body *')]
  .filter((one) => one.checkVisibility() && [...one.childNodes].some(
    (node) => node.nodeType === 3 && node.textContent.trim()))
  .map((one) => getComputedStyle(one).fontSize))]"""
PRIMARY = "main :is(button, [role=button]).primary"
#: of each primary button, the red ones in the same row
RED_BESIDE = """() => [...document.querySelectorAll('main .primary')].flatMap((one) =>
  [...one.parentElement.querySelectorAll(':scope > .danger')]).length"""


@pytest.fixture
def pages(make_web, user_of, browse) -> list[Page]:
    """The pages of a house full of crawls."""
    web = make_web()
    web.enough.set()
    crawls = furnish(web.url, by=user_of("operator"))
    addresses = ["/", "/crawls/", "/crawls/new/", "/health/", "/resources/", "/hosts/"]
    addresses += [f"/crawls/{crawl.pk}/" for crawl in crawls.values()]
    done = crawls["manual"].pk
    addresses += [f"/crawls/{done}/{tab}/" for tab in ("pages", "hosts", "settings", "runs")]
    return [browse("operator", address) for address in addresses]


def test_pages_have_five_sizes_of_type_and_at_most_one_primary_button_with_no_red_one_beside(
    pages,
):
    for page in pages:
        found = set(page.evaluate(SIZES_SHOWN))
        assert found <= SIZES, f"{page.url}: {found - SIZES}"
        assert page.locator(PRIMARY).count() <= 1, page.url
        assert page.evaluate(RED_BESIDE) == 0, page.url
