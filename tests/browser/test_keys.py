"""The keys for those who live in the dashboard: they move, find and go, are listed, and can be
turned off.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from crawling.runs.start import start_run
from tests.browser.house import make_crawl

IN_A_ROW = "document.activeElement.closest('tr')"


@pytest.fixture
def crawls(make_web):
    url = make_web().url
    made = [make_crawl(name, url) for name in ("Atlas", "Busy")]
    for crawl in made:
        start_run(crawl)
    return made


def test_rows_are_gone_through_and_opened_pages_gone_to_and_searched(operator, crawls):
    page = operator
    page.goto("/crawls/")

    page.keyboard.press("j")
    first = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("j")
    second = page.evaluate("document.activeElement.textContent")
    assert {first, second} == {"Atlas", "Busy"}
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(first)

    page.keyboard.press("g")
    page.keyboard.press("c")
    page.wait_for_url("**/crawls/")
    page.keyboard.press("/")
    page.keyboard.type("jk?")
    expect(page.locator("input[type=search]").first).to_have_value("jk?")


def test_the_keys_are_listed_and_can_be_turned_off(operator, crawls):
    page = operator
    page.goto("/crawls/")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(keys).to_contain_text("go to Crawls")

    keys.get_by_label("Use these keys in this browser").uncheck()
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    page.keyboard.press("j")
    assert page.evaluate(IN_A_ROW) is None
    page.reload()
    page.keyboard.press("j")
    assert page.evaluate(IN_A_ROW) is None
