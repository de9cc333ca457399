"""With scripts switched off everything can still be done and read."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from crawling.models import CrawlJob
from crawling.models.inquiries import Inquiry
from crawling.models.jobs import RunState
from tests.browser.house import furnish, make_crawl
from tests.stack import wait_until


@pytest.fixture
def page(browse) -> Page:
    return browse("operator", java_script_enabled=False)


def press(button: Locator) -> None:
    """Press it, and wait for the page that answers it."""
    with button.page.expect_navigation():
        button.click()


def test_a_crawl_is_made_tried_paused_resumed_and_stopped(page, make_web, background_worker):
    web = make_web()
    page.goto("/crawls/new/")
    page.get_by_label("Start URLs").fill(web.url)
    page.get_by_label("Name", exact=True).fill("Library")
    page.get_by_role("button", name="Test fetch").click()
    wait_until(lambda: Inquiry.objects.exclude(ended_at=None).exists(), seconds=90)
    # the page asks again by itself
    expect(page.get_by_role("region", name="Test result")).to_contain_text("Page 0")
    press(page.get_by_role("button", name="Save and start"))

    crawl = CrawlJob.objects.get(name="Library")
    for verb, state in (
        ("Pause", RunState.PAUSED),
        ("Resume", RunState.QUEUED),
        ("Stop", RunState.STOPPED),
    ):
        page.goto("/crawls/")
        press(page.get_by_role("button", name=re.compile(f"^{verb}")).first)
        if verb == "Stop":  # it asks first
            press(page.get_by_role("main").get_by_role("button", name=re.compile("^Stop")))
        expect(page.locator(".message")).to_contain_text("of Library requested")
        assert crawl.runs.get().state == state


def test_a_crawl_is_deleted_and_restored(page, make_web):
    crawl = make_crawl("Library", make_web().url)
    page.goto(f"/crawls/{crawl.pk}/")
    page.get_by_label("More").click()
    press(page.get_by_role("button", name="Delete", exact=True))
    expect(page).to_have_url("/crawls/")
    press(page.get_by_role("button", name="Undo"))

    assert CrawlJob.objects.get() == crawl


def test_mistakes_are_told_and_typed_text_is_kept(page, pool):
    page.goto("/crawls/new/")
    page.get_by_label("Start URLs").fill("nonsense")
    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.get_by_label("Start URLs")).to_have_value("nonsense")
    expect(page.get_by_role("alert")).to_be_visible()


def test_everything_can_be_read(page, make_web, user_of):
    web = make_web()
    web.enough.set()
    crawls = furnish(web.url, by=user_of("operator"))

    page.goto("/crawls/")
    for crawl in crawls.values():
        expect(page.get_by_role("rowheader", name=crawl.name)).to_be_visible()
    expect(page.get_by_label("Pause refresh")).to_be_hidden()

    page.goto("/resources/")
    expect(page.get_by_role("main")).to_contain_text("safe")
    expect(page.get_by_role("main")).to_contain_text("The waiter")

    page.goto(f"/crawls/{crawls['waiter'].pk}/")
    expect(page.get_by_role("main")).to_contain_text("The holder")
