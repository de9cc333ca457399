"""Steering from a crawl's own page: it tells what became of what the crawl held, and the bank's
page shows the same.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from allocation.models import Process
from crawling.models import CrawlJob
from crawling.runs.start import start_run
from tests.browser.endless import EndlessWeb
from tests.browser.house import make_crawl

HELD = "bandwidth 39.1 MB/s"


@pytest.fixture
def web(make_web) -> EndlessWeb:
    return make_web()


@pytest.fixture
def crawl(web, workers, user_of) -> CrawlJob:
    return make_crawl(
        "Library",
        web.url,
        by=user_of("operator"),
        delay_seconds=0.2,
        batch_size=5,
        claim={"bandwidth": 40_000},
    )


@pytest.fixture
def page(crawl, operator) -> Page:
    """The page of the crawl, which is fetching."""
    start_run(crawl)
    operator.goto(f"/crawls/{crawl.pk}/")
    sees(operator, "running", why="Fetching.")
    return operator


def sees(page: Page, state: str, *, why: str) -> None:
    """The page of the crawl comes to show this state, by itself."""
    head = page.locator(".crawl-head")
    expect(head).to_contain_text(re.compile(f"{state}.*{re.escape(why)}", re.S))


def click(page: Page, name: str) -> None:
    """A button beside the crawl's name, or of the menu that stands with them."""
    if not page.get_by_role("button", name=name, exact=True).is_visible():
        page.locator("#more summary").click()
    page.get_by_role("button", name=name, exact=True).click()
    expect(page.locator(".message").first).to_contain_text("of Library requested")


def at_the_bank(page: Page) -> Locator:
    return page.get_by_role("region", name="Resources")


def held_by(page: Page, name: str) -> Locator:
    """A process's row of the bank's matrix."""
    places = page.get_by_role("navigation", name="Main")
    places.get_by_role("link", name="Resources", exact=True).click()
    return (
        page.get_by_role("region", name="Who holds what")
        .get_by_role("row")
        .filter(has=page.get_by_role("rowheader", name=name))
    )


def test_a_crawl_is_paused_resumed_and_stopped_and_told_what_became_of_its_units(page, crawl):
    """One crawl, for it takes seconds to start what works on it."""
    what_it_keeps_is_reserved_until_it_is_resumed(page, crawl)

    page.goto(f"/crawls/{crawl.pk}/")
    without_a_time_everything_is_given_back(page)

    page.goto(f"/crawls/{crawl.pk}/")
    click(page, "Resume")
    sees(page, "running", why="Fetching.")
    page.goto(f"/crawls/{crawl.pk}/")
    stopped_it_ends_and_leaves_the_bank_but_keeps_its_pages(page)


def what_it_keeps_is_reserved_until_it_is_resumed(page: Page, crawl: CrawlJob) -> None:
    click(page, "Pause, keep 30 min")
    sees(page, "paused", why="what it held is reserved until")
    expect(at_the_bank(page).get_by_role("row", name=HELD)).to_be_visible()

    expect(held_by(page, "Library")).to_contain_text("reserved")
    expect(held_by(page, "Library")).to_contain_text("39.1 of 39.1 MB/s")
    expect(page.get_by_role("region", name="Reservations")).to_contain_text(
        "Library keeps its units until"
    )
    kept = Process.objects.get()

    page.goto(f"/crawls/{crawl.pk}/")
    click(page, "Resume")
    sees(page, "running", why="Fetching.")
    expect(held_by(page, "Library")).to_contain_text("in use")
    expect(page.get_by_role("region", name="Reservations")).to_have_count(0)
    granted = Process.objects.get().grants.values_list("pk", flat=True)
    assert set(granted) >= set(kept.grants.filter(released_at=None).values_list("pk", flat=True))


def without_a_time_everything_is_given_back(page: Page) -> None:
    click(page, "Pause")
    sees(page, "paused", why="all its units are released")
    expect(at_the_bank(page)).to_contain_text("No resources reserved")

    row = held_by(page, "Library")
    expect(row).to_contain_text("idle")
    expect(row).to_contain_text("0 of 39.1 MB/s")
    expect(page.get_by_role("region", name="Reservations")).to_have_count(0)


def stopped_it_ends_and_leaves_the_bank_but_keeps_its_pages(page: Page) -> None:
    latest = page.get_by_role("region", name="Latest pages")
    expect(latest).to_contain_text(re.compile(r"Page \d"))

    with page.expect_navigation():
        page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".message.warning")).to_contain_text("all pages are kept")
    click(page, "Stop")
    sees(page, "stopped", why="its pages and its queue are kept")

    expect(page.get_by_role("button", name="Run again")).to_be_visible()
    expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    expect(latest).to_contain_text(re.compile(r"Page \d"))
    expect(held_by(page, "Library")).to_have_count(0)


@pytest.mark.drill
def test_a_resumed_crawl_goes_on_to_its_end(page, web):
    click(page, "Pause, keep 30 min")
    sees(page, "paused", why="reserved")
    click(page, "Resume")
    sees(page, "running", why="Fetching.")

    web.enough.set()

    sees(page, "finished", why="Every URL in scope is done.")
