"""Everything can be reached and done without a mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from crawling.models.jobs import RunState
from crawling.runs.start import start_run
from tests.browser.house import make_crawl

#: an element by what stays the same while a count in its words or its hint is renewed
IDENTITY = """one => one.tagName.toLowerCase() + ["id", "name", "type", "value", "href"].filter(
  fact => one.hasAttribute(fact)).map(fact => `[${fact}=${one.getAttribute(fact)}]`).join("")
  + (one.id ? "" : " " + (one.ariaLabel || one.textContent).trim().slice(0, 80))"""
#: what Tab stops at, in the order of the page; of radio buttons with one name only one is a stop
STOPS = f"""() => {{
  const identity = {IDENTITY};
  const may = document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex='0']");
  const isSeen = one => one.checkVisibility({{visibilityProperty: true}});
  const isAsked = one => one.type !== "hidden" && (one.type !== "radio" || one.checked);
  const isStop = one => !one.disabled && one.tabIndex >= 0 && isAsked(one);
  return [...may].filter(one => isSeen(one) && isStop(one)).map(identity);
}}"""
HERE = (
    f"() => document.activeElement === document.body ? null : ({IDENTITY})(document.activeElement)"
)
#: whether the focused element looks otherwise than without the focus
LOOKS_FOCUSED = """() => {
  const one = document.activeElement;
  const look = () => [null, "::file-selector-button"].map(part => {
    const style = getComputedStyle(one, part);
    return [
      style.outline, style.boxShadow, style.backgroundColor, style.borderColor,
      style.textDecoration, style.position,
    ].join("|");
  }).join();
  const focused = look();
  one.blur();
  const plain = look();
  one.focus({focusVisible: true});
  return focused !== plain;
}"""


def tab_through(page: Page, most: int = 120) -> tuple[list[str], list[str]]:
    """Where Tab leads from the top of the page until it leaves it, and which of these stops cannot
    be seen.
    """
    stops, unseen = [], []
    for _ in range(most):
        page.keyboard.press("Tab")
        here = page.evaluate(HERE)
        if here is None or here in stops[:1]:
            return stops, unseen
        stops.append(here)
        if not page.evaluate(LOOKS_FOCUSED):
            unseen.append(here)
    raise AssertionError("Tab goes on and on")


@pytest.fixture
def crawl(make_web):
    crawl = make_crawl("Library", make_web().url)
    start_run(crawl)
    return crawl


@pytest.fixture
def addresses(crawl) -> dict[str, str]:
    return {
        "list": "/crawls/",
        "new": "/crawls/new/",
        "crawl": f"/crawls/{crawl.pk}/",
        "resources": f"/resources/{crawl.runs.get().processes.get().bank_process.pool_id}/",
    }


@pytest.mark.parametrize("name", ["list", "new", "crawl", "resources"])
def test_tab_goes_through_the_page_in_its_order_and_shows_where_it_is(operator, addresses, name):
    open_calmly(operator, addresses[name])

    stops, unseen = tab_through(operator)

    assert stops == operator.evaluate(STOPS)
    assert unseen == []


def test_the_skip_link_comes_first_and_leads_past_the_navigation(operator, crawl):
    operator.goto("/crawls/")

    operator.keyboard.press("Tab")
    skip = operator.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()

    with operator.expect_navigation():
        operator.keyboard.press("Enter")
    operator.keyboard.press("Tab")
    assert operator.evaluate("document.activeElement.closest('main') !== null")


def test_a_crawl_is_paused_and_resumed_with_the_return_key(operator, crawl):
    operator.goto("/crawls/")
    for verb, state in (("Pause", RunState.PAUSED), ("Resume", RunState.QUEUED)):
        operator.get_by_role("button", name=verb).first.focus()
        with operator.expect_navigation():
            operator.keyboard.press("Enter")
        expect(operator.locator(".message")).to_contain_text("of Library requested")
        assert crawl.runs.get().state == state


def open_calmly(page: Page, address: str) -> None:
    """Open a page with its refresh paused, so that it stays as it is."""
    page.goto("/crawls/")
    page.get_by_label("Pause refresh").check()
    assert page.goto(address).ok
