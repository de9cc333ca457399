"""How many clicks a task takes, from a fresh log-in to the page that shows its result."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from allocation.models import Pool
from crawling.datasets.catch_up import catch_up
from crawling.models import AllowedNetwork, CrawlJob, Run
from crawling.runs.start import start_run
from crawlsite.administration.accounts import role_of
from tests.browser.axe import violations
from tests.browser.endless import words_of
from tests.browser.house import make_crawl
from tests.crawling.conftest import do_shifts
from tests.crawling.reading import read_to_the_end

#: what Enter and Space press is no click
COUNT = """
addEventListener("click", (event) => {
  if (!event.isTrusted || !event.detail) return;
  sessionStorage.clicks = 1 + Number(sessionStorage.clicks || 0);
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


def test_a_word_is_found_by_one_click_and_typing(newcomer, make_web):
    web = make_web()
    web.enough.set()
    run = start_run(make_crawl("Library", web.url))
    do_shifts(run)
    catch_up(run.pk)
    read_to_the_end(run)
    word = words_of(0).split()[0]

    newcomer.get_by_role("link", name="Search", exact=True).click()
    newcomer.wait_for_url("**/search/text/")
    newcomer.keyboard.type(word)

    expect(newcomer.get_by_role("link", name="Page 0", exact=True)).to_be_visible()
    expect(newcomer.get_by_role("status")).to_contain_text("1 page")
    field = newcomer.get_by_label("Words, or a phrase in quotes")
    expect(field).to_be_focused()
    assert clicks(newcomer) == 1
    assert violations(newcomer) == []

    newcomer.keyboard.type(" xyzzy")
    expect(newcomer.get_by_role("status")).to_contain_text("0 pages")
    newcomer.keyboard.press("Control+a")
    newcomer.keyboard.type(word)
    newcomer.get_by_role("link", name="Page 0", exact=True).click()
    expect(newcomer).to_have_url(re.compile("/pages/"))
    newcomer.go_back()
    expect(field).to_have_value(word)
    newcomer.reload()
    expect(newcomer.get_by_role("link", name="Page 0", exact=True)).to_be_visible()


def test_a_search_whose_session_has_ended_leads_to_the_log_in(newcomer):
    newcomer.goto("/search/text/")
    newcomer.context.clear_cookies()
    newcomer.keyboard.type("lighthouse")

    newcomer.wait_for_url(re.compile("/login/.*lighthouse"))


@pytest.mark.parametrize("place", ["/search/text/", "/search/"])
def test_letters_go_to_the_field_that_the_page_is_for_wherever_the_focus_is(newcomer, place):
    newcomer.goto(place)
    newcomer.evaluate("document.activeElement.blur()")
    newcomer.keyboard.type("gh")

    expect(newcomer.locator("main input[type=search]")).to_have_value("gh")
    expect(newcomer).to_have_url(place)


def test_a_crawl_is_deleted_and_restored_by_three_clicks(newcomer, make_web):
    make_web()
    crawl = make_crawl("Library", "http://127.0.0.1:8900/")

    newcomer.get_by_role("link", name="Crawls", exact=True).click()
    newcomer.get_by_role("button", name="Delete: Library").click()
    expect(newcomer.locator(".message").first).to_contain_text("Library is deleted")
    assert not CrawlJob.objects.exists()
    newcomer.get_by_role("button", name="Undo").click()

    expect(newcomer.locator(".message").first).to_contain_text("Library is restored")
    assert CrawlJob.objects.get() == crawl
    assert clicks(newcomer) == 3


def test_a_user_with_a_role_takes_four_clicks(newcomer):
    newcomer.locator("header .menu summary").click()
    newcomer.get_by_role("link", name="Users", exact=True).click()
    newcomer.get_by_label("User name").click()
    newcomer.keyboard.type("ada")
    newcomer.keyboard.press("Tab")
    newcomer.keyboard.press("Tab")
    newcomer.keyboard.type("Viewer")
    newcomer.get_by_role("button", name="Create user").click()

    expect(newcomer.get_by_role("status")).to_contain_text("The password of ada")
    assert role_of(User.objects.get(username="ada")) == "viewer"
    assert clicks(newcomer) == 4


def test_a_token_and_its_first_call_take_three_clicks(newcomer):
    newcomer.locator("header .menu summary").click()
    newcomer.get_by_role("link", name="Tokens", exact=True).click()
    newcomer.wait_for_url("**/tokens/")
    newcomer.keyboard.type("nightly")
    newcomer.get_by_role("button", name="Create token").click()

    expect(newcomer.get_by_role("group", name="A first call")).to_contain_text("curl -H")
    assert clicks(newcomer) == 3


def test_a_limit_is_raised_by_three_clicks(newcomer):
    newcomer.get_by_role("link", name="Resources", exact=True).click()
    with newcomer.expect_navigation():
        newcomer.get_by_title("Edit the capacity of memory").click()
    newcomer.keyboard.type("5120")
    expect(newcomer.get_by_role("table", name="This would change")).to_contain_text("5 GB")
    assert Pool.objects.get().capacity[3] == 512
    newcomer.get_by_role("button", name="Confirm the change").click()

    expect(newcomer.get_by_text("Capacity of default is changed.")).to_be_visible()
    assert Pool.objects.get().capacity[3] == 5_120
    assert clicks(newcomer) == 3
