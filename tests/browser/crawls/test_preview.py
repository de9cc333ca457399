"""Adding seeds and previewing an edit, in a browser: what scripts add, and nothing for axe-core to
find.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from crawling.models import CrawlJob, Identity
from crawling.runs.start import start_run
from tests.browser.axe import violations
from tests.browser.house import make_crawl
from tests.browser.test_accessible import ONE_SCREEN, SCREENS, TOO_WIDE


@pytest.fixture
def crawl(make_web) -> CrawlJob:
    Identity.objects.update_or_create(
        pk=1, defaults={"product_token": "crawlsite", "contact_url": "mailto:ops@example.org"}
    )
    crawl = make_crawl("Library", make_web().url)
    start_run(crawl)
    return crawl


@pytest.mark.parametrize("screen", ONE_SCREEN)
def test_what_saving_removes_is_shown_in_place_and_what_was_typed_stays(browse, crawl, screen):
    page = browse("operator", f"/crawls/{crawl.pk}/scope/", **SCREENS[screen])
    page.evaluate(
        "document.body.dataset.mark = 'not reloaded'; "
        "document.querySelectorAll('details').forEach((one) => one.open = true)"
    )
    page.locator("[name=exclude]").fill("x")

    page.get_by_role("button", name="Preview").click()

    expect(page.locator("#preview")).to_contain_text("This would remove 0 of 1 queued URLs.")
    assert page.evaluate("document.body.dataset.mark") == "not reloaded"
    assert page.locator("[name=exclude]").input_value() == "x"
    assert violations(page) == []


@pytest.mark.parametrize("screen", ONE_SCREEN)
def test_seeds_with_mistakes_are_told_beside_what_was_typed(browse, crawl, screen):
    page = browse("operator", f"/crawls/{crawl.pk}/frontier/", **SCREENS[screen])
    page.get_by_role("link", name="Add start URLs").click()
    page.get_by_role("textbox", name="Start URLs").fill("nonsense\nhttp://b.test/")
    page.get_by_role("button", name="Add start URLs").click()

    expect(page.get_by_role("alert")).to_contain_text("'nonsense' is not a URL")
    assert (
        page.get_by_role("textbox", name="Start URLs").input_value() == "nonsense\nhttp://b.test/"
    )
    assert violations(page) == []
    assert page.evaluate(TOO_WIDE) == 0

    page.get_by_role("textbox", name="Start URLs").fill("http://b.test/")
    page.get_by_label("Widen the scope").check()
    page.get_by_role("button", name="Add start URLs").click()
    expect(
        page.get_by_text("1 start URL is added by revision 2; 1 queued in the active run.")
    ).to_be_visible()
