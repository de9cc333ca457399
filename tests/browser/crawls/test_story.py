"""A working day: two crawls that share too little, from the form to their end, by nothing but the
pages.
"""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

#: the bandwidth that each asks for; the pool has 100,000
MOST = "60000"


def make(page: Page, name: str, seed: str) -> None:
    page.goto("/crawls/")
    page.get_by_role("button", name="New crawl").click()
    page.get_by_label("Start URLs").fill(seed)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Delay per host").fill("0.3")
    page.get_by_text("Resource limits and priority").click()
    page.get_by_label("Max bandwidth").fill(MOST)
    page.get_by_label("Batch size per host").fill("5")
    page.get_by_role("button", name="Save and start").click()
    expect(page.locator(".message")).to_contain_text(name)


def row(page: Page, name: str) -> Locator:
    """Of a crawl: its numbers, and below them why it waits and what can be done."""
    return page.locator("tbody").filter(has=page.get_by_role("rowheader", name=name))


def sees(page: Page, name: str, state: str, *, why: str = "") -> None:
    """The list comes to show the crawl in this state, by itself."""
    if not page.url.endswith("/crawls/"):
        page.goto("/crawls/")
    expect(row(page, name).locator(".state")).to_have_text(re.compile(state))
    expect(row(page, name)).to_contain_text(why)


def click(page: Page, verb: str, name: str) -> None:
    row(page, name).get_by_role("button", name=re.compile(f"^{verb}")).click()
    expect(page.locator(".message")).to_contain_text(name)


def test_two_crawls_share_what_is_not_enough_for_both(operator, make_web, workers):
    library, shop = make_web("127.0.0.1"), make_web("127.0.0.2")

    make(operator, "Library", library.url)
    sees(operator, "Library", "running")
    make(operator, "Shop", shop.url)
    sees(operator, "Shop", "waiting", why="Held by Library")

    click(operator, "Pause", "Library")
    sees(operator, "Library", "paused")
    sees(operator, "Shop", "running")

    click(operator, "Resume", "Library")
    sees(operator, "Library", "waiting", why="Held by Shop")

    shop.enough.set()
    sees(operator, "Shop", "finished")
    sees(operator, "Library", "running")

    library.enough.set()
    sees(operator, "Library", "finished")
