"""The page that describes the endpoints can be read and tried with a log-in; without one it
redirects to the log-in.
"""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.house import make_crawl


def operation(page: Page, group: str, verb: str, path: str) -> Locator:
    """One of the page's foldable descriptions, unfolded, in its group, which is folded, too: all at
    once would be slow.
    """
    page.locator(f"#operations-tag-{group}").click()
    block = page.locator(f".opblock-{verb}").filter(has=page.locator(f"[data-path='{path}']"))
    block.locator(".opblock-summary-control").click()
    return block


def tried(block: Locator) -> Locator:
    """The server's answer to a press of the block's buttons."""
    block.get_by_role("button", name="Try it out").click()
    return block


def test_a_visitor_is_led_to_the_log_in_and_on_to_the_page_that_describes_every_endpoint(
    browse, user_of
):
    user = user_of("operator")
    user.set_password("a long password")
    user.save()
    page = browse(None, "/api/v1/docs")

    page.get_by_label("User name").fill("operator")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Log in").click()

    expect(page.get_by_role("heading", name=re.compile("crawlsite"))).to_be_visible()
    assert page.url.endswith("/api/v1/docs")
    paths = page.request.get("/api/v1/openapi.json").json()["paths"]
    operations = [one for methods in paths.values() for one in methods.values()]
    expect(page.locator(".opblock-tag")).to_have_count(len({one["tags"][0] for one in operations}))
    for group in page.locator(".opblock-tag").all():
        group.click()
    expect(page.locator(".opblock")).to_have_count(len(operations))
    told = page.locator(".opblock .opblock-summary-description:not(:empty)")
    expect(told).to_have_count(len(operations))


def test_an_operator_asks_and_changes_something_from_the_page_with_the_session_alone(
    make_web, operator
):
    crawl = make_crawl("Library", make_web().url)
    operator.goto("/api/v1/docs")

    block = tried(operation(operator, "crawls", "get", "/api/v1/crawls"))
    block.get_by_role("button", name="Execute").click()
    expect(block.locator(".live-responses-table .response .response-col_status")).to_have_text(
        re.compile("^200")
    )
    expect(block.locator(".live-responses-table")).to_contain_text('"Library"')

    block = tried(operation(operator, "control", "post", "/api/v1/crawls/{crawl_id}/start"))
    block.get_by_placeholder("crawl_id").fill(str(crawl.pk))
    block.get_by_role("button", name="Execute").click()
    expect(block.locator(".live-responses-table .response .response-col_status")).to_have_text(
        re.compile("^200")
    )
    assert crawl.runs.get().state == "queued"


def test_a_program_that_is_not_logged_in_gets_its_refusal_as_json(browse):
    page = browse(None)
    answer = page.request.get("/api/v1/crawls", headers={"Accept": "text/html"})

    assert answer.status == 401
    assert answer.headers["content-type"].startswith("application/json")
    assert "Log in, or send a token" in answer.json()["detail"]
