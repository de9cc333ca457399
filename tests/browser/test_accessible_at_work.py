"""The pages of crawls at work, and of what only a click brings about: as fit for every eye and hand
as those that stand still.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from crawling.models import CrawlJob
from crawling.runs.start import start_run
from crawling.runs.steering import pause
from tests.browser.axe import violations
from tests.browser.house import make_crawl
from tests.browser.test_accessible import ONE_SCREEN, SCREENS, TOO_WIDE
from tests.crawling.conftest import do_shifts

#: from this page on the web waits for the test, so that what runs stays running
HELD_AT = 40
PHONE = {"viewport": {"width": 390, "height": 844}}
TABS = (
    "",
    "pages/",
    "not-fetched/",
    "frontier/",
    "hosts/",
    "log/",
    "charts/",
    "runs/",
    "settings/",
)


@pytest.fixture(params=ONE_SCREEN)
def page(request, browse) -> Page:
    return browse("operator", **SCREENS[request.param])


@pytest.fixture
def crawl(make_web, workers, user_of) -> Iterator[CrawlJob]:
    """A crawl that is fetching, and has fetched pages and missed some."""
    web = make_web(hold_at=HELD_AT)
    crawl = make_crawl("Library", web.url, by=user_of("operator"), batch_size=5)
    start_run(crawl)
    yield crawl
    web.enough.set()  # or its worker waits for a held answer before it stops


def is_fit(page: Page) -> None:
    assert violations(page) == []
    assert page.evaluate(TOO_WIDE) == 0


def test_the_page_of_a_crawl_that_runs(page, crawl, browse):
    page.goto(f"/crawls/{crawl.pk}/")
    expect(page.locator(".crawl-head .state")).to_have_text("running")
    expect(page.get_by_role("region", name="Latest pages")).to_contain_text("Page 3")
    expect(page.get_by_role("region", name="Failed and excluded, by cause")).to_contain_text(
        "404 Not Found"
    )

    is_fit(page)
    takes_three_screens_of_a_phone_and_every_tab_begins_on_the_first(
        browse("operator", f"/crawls/{crawl.pk}/", **PHONE), crawl
    )


def takes_three_screens_of_a_phone_and_every_tab_begins_on_the_first(
    page: Page, crawl: CrawlJob
) -> None:
    expect(page.get_by_role("region", name="Latest pages")).to_contain_text("Page 3")
    screen = PHONE["viewport"]["height"]

    assert page.evaluate("document.documentElement.scrollHeight") <= 3 * screen
    for tab in TABS:
        page.goto(f"/crawls/{crawl.pk}/{tab}")
        bottom = page.locator("nav.tabs").first.bounding_box()
        assert bottom["y"] + bottom["height"] < screen / 2, tab
        rows = page.eval_on_selector_all("main tr", "rows => rows.map(row => row.offsetHeight)")
        assert max(rows, default=0) <= screen / 3, tab


@pytest.mark.drill
def test_the_page_of_a_crawl_that_paused_and_keeps(page, make_web, workers):
    crawl = make_crawl("Library", make_web().url, batch_size=5, delay_seconds=0.3)
    start_run(crawl)
    page.goto(f"/crawls/{crawl.pk}/")
    expect(page.locator(".crawl-head .state")).to_have_text("running")
    pause(crawl, keep_seconds=600)
    expect(page.locator(".crawl-head .sentence")).to_contain_text("is reserved until")

    is_fit(page)


def test_the_page_of_a_crawl_with_errors_that_are_unfolded(page, make_web, make_site):
    make_web()
    site = make_site(
        {
            "/": '<a href="/gone">gone</a><a href="/forbidden">no</a>',
            "/robots.txt": "User-agent: *\nDisallow: /forbidden",
        }
    )
    crawl = make_crawl("Library", f"{site.url}/")
    do_shifts(start_run(crawl))
    page.goto(f"/crawls/{crawl.pk}/")
    for cause in page.locator(".causes summary").all():
        cause.click()

    expect(page.locator(".causes > li")).to_have_count(2)
    is_fit(page)


def test_what_the_first_urls_answer(page, make_web, background_worker):
    web = make_web()
    page.goto("/crawls/new/")
    page.get_by_label("Start URLs").fill(f"{web.url}\n{web.url}missing\nhttp://127.0.0.5:1024/")
    page.get_by_role("button", name="Test fetch").click()
    expect(page.get_by_role("region", name="Test result")).to_contain_text("404")

    is_fit(page)
