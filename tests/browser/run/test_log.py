"""The log as it grows in a browser: it follows, it stops following when a user scrolls, and it
reports a server that does not answer.
"""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from crawling.models import Level, LogLine, Run
from crawling.runs.start import start_run
from tests.browser.axe import violations
from tests.browser.house import make_crawl
from tests.browser.test_accessible import ONE_SCREEN, SCREENS, TOO_WIDE
from tests.stack import wait_until


@pytest.fixture
def run(make_web) -> Run:
    run = start_run(make_crawl("Library", make_web().url))
    LogLine.objects.all().delete()
    log(run, 1, 1200)
    # long enough ago that no earlier one can appear
    LogLine.objects.update(at=timezone.now() - timedelta(minutes=1))
    return run


def log(run: Run, first: int, last: int) -> None:
    """Write lines as workers do."""
    LogLine.objects.bulk_create(
        LogLine(
            run=run,
            level=Level.WARNING if number % 2 else Level.INFO,
            message=f"entry {number} ",
            url="http://a.test/" + 40 * "path/",
        )
        for number in range(first, last + 1)
    )


@pytest.fixture
def page(operator, run) -> Page:
    """The log, with a clock that the test may turn."""
    operator.clock.install()
    operator.goto(f"/crawls/{run.crawl_id}/log/")
    return operator


def is_at_the_end(page: Page) -> bool:
    return page.evaluate(
        "(() => { const box = document.getElementById('log-box'); return box.scrollHeight - "
        "box.scrollTop - box.clientHeight < 8; })()"
    )


def scroll_to(page: Page, top: int) -> None:
    page.evaluate(f"document.getElementById('log-box').scrollTop = {top}")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def refresh(page: Page) -> None:
    """See two refreshes through: the first may have been under way before."""
    for _ in range(2):
        with page.expect_response(lambda answer: "after=" in answer.url):
            page.clock.run_for(2_000)


def last_line(page: Page):
    return page.locator("#lines li").last


def test_a_thousand_lines_stand_in_the_page_and_new_ones_come_at_the_end_which_stays_in_sight(
    page, run
):
    # all of them, so that the browser's own search finds them
    assert page.locator("#lines li").count() == 1000
    wait_until(lambda: is_at_the_end(page))

    log(run, 1201, 2210)
    refresh(page)

    expect(last_line(page)).to_contain_text("entry 2210 ")
    page.clock.run_for(4_000)
    assert page.locator("#lines li").count() == 2010  # what comes again is shown once
    wait_until(lambda: is_at_the_end(page))


def test_who_scrolls_up_is_left_in_peace_until_the_jump_to_the_end(page, run):
    jump = page.get_by_role("link", name="jump to the end")
    expect(jump).to_be_hidden()
    scroll_to(page, 300)
    log(run, 1201, 1210)
    refresh(page)

    # an earlier refresh may be under way
    expect(page.get_by_role("link", name="jump to the end (10 new)")).to_be_visible(timeout=30_000)
    assert page.evaluate("document.getElementById('log-box').scrollTop") == 300
    expect(page.get_by_text("Following is paused")).to_be_visible()

    jump.click()
    expect(jump).to_be_hidden()
    wait_until(lambda: is_at_the_end(page))


def test_the_filter_holds_for_what_comes(page, run):
    page.get_by_label("Lines to show").select_option("warning")
    with page.expect_navigation():
        page.get_by_role("button", name="Filter").click()
    log(run, 1201, 1202)
    page.clock.run_for(2_000)

    expect(last_line(page)).to_contain_text("entry 1201 ")
    assert "level=warning" in page.url


def test_wrapping_is_remembered(page):
    one_line = "document.querySelector('#lines li').getClientRects()[0].height"
    wrapped = page.evaluate(one_line)
    page.get_by_label("Wrap lines").uncheck()
    assert page.evaluate(one_line) < wrapped or page.evaluate(
        "document.getElementById('lines').scrollWidth > innerWidth"
    )

    page.reload()

    expect(page.get_by_label("Wrap lines")).not_to_be_checked()
    assert (
        page.evaluate("getComputedStyle(document.querySelector('#lines li')).whiteSpace")
        == "nowrap"
    )


def test_the_address_of_a_line_leads_to_it(page):
    # by key: the log that follows its end may scroll away under a pointer
    page.locator("#lines li", has_text="entry 700 ").get_by_role("link").press("Enter")

    here = page.locator("#lines [aria-current]")
    expect(here).to_contain_text("entry 700 ")
    expect(here).to_be_in_viewport()
    page.clock.run_for(10_000)
    assert page.locator("#lines li").count() == 1000  # a place in the log is not followed


def test_it_tells_when_nobody_answers_and_how_old_it_is(page, run, watch):
    page.route("**/log/*", lambda route: route.abort())
    page.clock.run_for(2_000)
    expect(page.get_by_text("No answer, reconnecting")).to_be_visible()
    page.clock.run_for(60_000)
    expect(page.locator("#age")).to_contain_text(re.compile(r"(([6-9]\d|1[01]\d) s|[2-9] min) old"))

    page.unroute("**/log/*")
    log(run, 1201, 1201)
    refresh(page)
    expect(last_line(page)).to_contain_text("entry 1201 ")
    expect(page.get_by_text("No answer, reconnecting")).to_have_count(0)
    watch.complaints.clear()  # of the answers that this test kept back


@pytest.mark.parametrize("screen", ONE_SCREEN)
def test_nothing_is_found_by_axe_and_nothing_is_too_wide(browse, run, screen):
    page = browse("viewer", f"/crawls/{run.crawl_id}/log/?text=entry", **SCREENS[screen])

    assert violations(page) == []
    page.get_by_label("Wrap lines").uncheck()
    assert page.evaluate(TOO_WIDE) == 0


def test_without_scripts_the_end_is_a_link_away(browse, run):
    page = browse("viewer", f"/crawls/{run.crawl_id}/log/", java_script_enabled=False)

    page.get_by_role("link", name="jump to the end").click()
    expect(last_line(page)).to_be_in_viewport()
    page.get_by_role("link", name="older").click()
    expect(last_line(page)).to_contain_text("entry 200 ")
