"""The list of crawls: what is wanted stands in the address, so that it can be kept, sent and gone
back to.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from crawling.crawls.creation import start_run
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


def names(page: Page) -> list[str]:
    return [head.split()[0] for head in page.locator("tbody th[scope=row]").all_inner_texts()]


def test_a_click_on_a_state_shows_the_crawls_in_it(crawls):
    crawls.get_by_role("link", name=re.compile("stopped")).click()

    expect(crawls.locator("tbody tr")).to_have_count(1)
    assert names(crawls) == ["Gamma"]
    assert "state=stopped" in crawls.url


def test_search_finds_names_and_seeds_within_the_state(crawls):
    crawls.get_by_role("link", name=re.compile("draft")).click()
    crawls.get_by_role("searchbox").fill("bet")
    crawls.get_by_role("searchbox").press("Enter")

    expect(crawls.locator("tbody tr")).to_have_count(1)
    assert names(crawls) == ["Beta"]
    assert "state=draft" in crawls.url
    assert "q=bet" in crawls.url


def test_a_click_on_a_head_sorts_and_another_turns_it_round(crawls):
    head = crawls.get_by_role("columnheader", name=re.compile("^Crawl"))

    head.get_by_role("link").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert names(crawls) == ["Alpha", "Beta", "Gamma"]

    head.get_by_role("link").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert names(crawls) == ["Gamma", "Beta", "Alpha"]


def test_the_address_alone_brings_the_same_list_back(crawls, browse):
    crawls.get_by_role("columnheader", name=re.compile("^Crawl")).get_by_role("link").click()
    crawls.get_by_role("searchbox").fill("http")
    crawls.get_by_role("searchbox").press("Enter")
    crawls.get_by_role("link", name=re.compile("draft")).click()
    expect(crawls.locator("tbody tr")).to_have_count(2)

    another = browse("viewer", crawls.url)

    assert names(another) == names(crawls) == ["Alpha", "Beta"]
    expect(another.get_by_role("searchbox")).to_have_value("http")


def test_a_search_without_a_find_leads_back_to_everything(crawls):
    crawls.get_by_role("searchbox").fill("no such crawl")
    crawls.get_by_role("searchbox").press("Enter")

    expect(crawls.get_by_role("main")).to_contain_text("no such crawl")
    crawls.get_by_role("link", name="Show all crawls").click()
    expect(crawls.locator("tbody tr")).to_have_count(3)
