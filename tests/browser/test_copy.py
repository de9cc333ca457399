"""IDs are short, and a button gives the whole of them."""

from __future__ import annotations

from datetime import datetime, timedelta

from playwright.sync_api import Page, expect

from crawling.models import Shift
from tests.browser.house import furnish

WORKER = "0123456789abcdef0123456789abcdef"


def clipboard(page: Page) -> str:
    return page.evaluate("navigator.clipboard.readText()")


def stop_clock(page: Page) -> None:
    """A button says "copied" for a moment only."""
    page.clock.pause_at(datetime.now() + timedelta(minutes=1))


def test_a_short_id_is_copied_whole_and_stays_so_after_a_refresh(operator, make_web, user_of):
    web = make_web()
    web.enough.set()
    crawl = furnish(web.url, by=user_of("operator"))["manual"]
    Shift.objects.update(worker=WORKER)
    operator.clock.install()
    operator.context.grant_permissions(["clipboard-read", "clipboard-write"])
    operator.goto(f"/crawls/{crawl.pk}/")
    operator.locator("#sessions > summary").click()
    stop_clock(operator)

    row = operator.get_by_role("region", name="Work sessions").get_by_role("row").nth(1)
    expect(row).to_contain_text("01234567…")
    row.get_by_role("button", name=f"Copy {WORKER}").click()
    expect(row.get_by_role("button")).to_have_text("copied")
    assert clipboard(operator) == WORKER

    operator.clock.resume()
    Shift.objects.update(ending="another ending")
    expect(row).to_contain_text("another ending")
    expect(row.get_by_role("button", name=f"Copy {WORKER}")).to_be_visible()


def test_the_command_of_a_page_is_copied(operator, pool):
    operator.clock.install()
    operator.context.grant_permissions(["clipboard-read", "clipboard-write"])
    operator.goto("/health/")
    stop_clock(operator)
    operator.get_by_text("This page on the command line").click()
    operator.get_by_role("button", name="Copy manage.py api GET /api/v1/health").click()

    expect(
        operator.get_by_role("button", name="Copy manage.py api GET /api/v1/health")
    ).to_have_text("copied")
    assert clipboard(operator) == "manage.py api GET /api/v1/health"
