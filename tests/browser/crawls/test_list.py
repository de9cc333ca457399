"""The list of crawls: what is wanted stands in the address, so that it can be kept, sent and gone
back to.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from crawling.runs.start import start_run
from crawling.runs.steering import stop
from tests.browser.house import make_crawl


@pytest.fixture
def crawls(make_web, operator) -> Page:
    """The list of three crawls, Alpha and Beta and a stopped Gamma."""
    web = make_web().url
    for name in ("Alpha", "Beta", "Gamma"):
        crawl = make_crawl(name, f"{web}{name.lower()}")
    start_run(crawl)
    stop(crawl)
    operator.goto("/crawls/")
    return operator


def shows(page: Page, *names: str) -> None:
    """The list comes to consist of these crawls, in this order."""
    expect(page.locator("tbody th[scope=row]")).to_have_text(
        [re.compile(rf"^\s*{name}\b") for name in names]
    )


def follow(link: Locator) -> None:
    with link.page.expect_navigation():
        link.click()


def search(page: Page, text: str) -> None:
    page.get_by_role("searchbox").fill(text)
    with page.expect_navigation():
        page.get_by_role("searchbox").press("Enter")


def test_a_click_on_a_state_shows_the_crawls_in_it(crawls):
    follow(crawls.get_by_role("link", name=re.compile("stopped")))

    shows(crawls, "Gamma")
    assert "state=stopped" in crawls.url


def test_search_finds_names_and_seeds_within_the_state(crawls):
    follow(crawls.get_by_role("link", name=re.compile("draft")))
    search(crawls, "bet")

    shows(crawls, "Beta")
    assert "state=draft" in crawls.url
    assert "q=bet" in crawls.url


def test_a_click_on_a_head_sorts_and_another_turns_it_round(crawls):
    head = crawls.get_by_role("columnheader", name=re.compile("^Crawl"))

    follow(head.get_by_role("link"))
    expect(head).to_have_attribute("aria-sort", "ascending")
    shows(crawls, "Alpha", "Beta", "Gamma")

    follow(head.get_by_role("link"))
    expect(head).to_have_attribute("aria-sort", "descending")
    shows(crawls, "Gamma", "Beta", "Alpha")


def test_the_address_alone_brings_the_same_list_back(crawls, browse):
    follow(crawls.get_by_role("columnheader", name=re.compile("^Crawl")).get_by_role("link"))
    search(crawls, "http")
    follow(crawls.get_by_role("link", name=re.compile("draft")))
    shows(crawls, "Alpha", "Beta")

    another = browse("viewer", crawls.url)

    shows(another, "Alpha", "Beta")
    expect(another.get_by_role("searchbox")).to_have_value("http")


def test_a_search_without_a_find_leads_back_to_everything(crawls):
    search(crawls, "no such crawl")

    expect(crawls.get_by_role("main")).to_contain_text("no such crawl")
    crawls.get_by_role("link", name="Show all crawls").click()
    expect(crawls.locator("main tbody")).to_have_count(3)
