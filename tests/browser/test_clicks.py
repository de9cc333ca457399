"""How many clicks the first crawl takes, from a fresh log-in to the page that shows its result."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from crawling.models import AllowedNetwork, Run
from tests.crawling.conftest import do_shifts

COUNT = """
addEventListener("click", (event) => {
  if (event.isTrusted) sessionStorage.clicks = 1 + Number(sessionStorage.clicks || 0);
}, true);
"""


@pytest.fixture
def newcomer(browse, pool) -> Page:
    """An administrator who has just logged in."""
    page = browse("administrator")
    page.add_init_script(COUNT)
    page.goto("/")
    return page


def clicks(page: Page) -> int:
    return page.evaluate("Number(sessionStorage.clicks || 0)")


def test_a_public_site_takes_three_clicks_at_most(newcomer):
    newcomer.get_by_role("button", name="New crawl").click()
    newcomer.get_by_label("Start URLs").press_sequentially("example.org")
    newcomer.get_by_label("Contact").press_sequentially("mailto:ops@example.org")
    newcomer.get_by_role("button", name="Save and start").click()

    expect(newcomer.get_by_role("heading", level=1)).to_have_text("example.org")
    assert clicks(newcomer) <= 3


def test_a_private_site_takes_five_clicks_at_most(newcomer, make_web):
    web = make_web()
    AllowedNetwork.objects.all().delete()

    newcomer.get_by_role("button", name="New crawl").click()
    seeds = newcomer.get_by_label("Start URLs")
    seeds.press_sequentially(web.url.removeprefix("http://"))
    seeds.press("Tab")
    newcomer.get_by_role("button", name="Allow 127.0.0.1").click()
    newcomer.get_by_label("Pages", exact=True).press_sequentially("3")
    newcomer.get_by_role("button", name="Save and start").click()

    expect(newcomer.get_by_role("heading", level=1)).to_contain_text("127.0.0.1")
    assert clicks(newcomer) <= 5
    do_shifts(Run.objects.get())
    newcomer.reload()
    expect(newcomer.get_by_role("region", name="Latest pages")).to_contain_text("Page 0")


def test_enter_in_a_field_saves_and_allows_nothing(newcomer):
    newcomer.goto("/crawls/new/")
    newcomer.get_by_label("Start URLs").fill("127.0.0.1:8900")
    name = newcomer.get_by_label("Name", exact=True)
    name.fill("Intranet")
    expect(newcomer.get_by_role("button", name="Allow 127.0.0.1")).to_be_visible()
    name.press("Enter")

    expect(newcomer.get_by_role("heading", level=1)).to_have_text("Intranet")
    assert not AllowedNetwork.objects.exists()
