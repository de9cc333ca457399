"""Pages refresh themselves, unless the user stops it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from crawling.models import CrawlJob, RunCount, RunTotal
from crawling.runs.start import start_run
from tests.browser.house import make_crawl


@pytest.fixture
def crawl(make_web) -> CrawlJob:
    crawl = make_crawl("Library", make_web().url)
    start_run(crawl)
    return crawl


@pytest.fixture
def crawls(crawl, operator) -> Page:
    """The list, with a clock that the test may turn, and a mark that a reload would wipe away."""
    operator.clock.install()
    operator.goto("/crawls/")
    operator.evaluate("document.body.dataset.mark = 'not reloaded'")
    return operator


def asks_of(page: Page) -> list[str]:
    """The refreshes that the page asks for from now on."""
    asked: list[str] = []
    page.on(
        "request",
        lambda request: asked.append(request.url) if "hx-request" in request.headers else None,
    )
    return asked


def choose(page: Page, words: str) -> None:
    with page.expect_response("**/account/refresh/") as answer:
        page.get_by_label("Refresh every").select_option(words)
    assert answer.value.status == 204


def fetched(crawl: CrawlJob, count: int) -> None:
    """Add the rows that a worker writes."""
    for counts in (RunCount, RunTotal):
        counts.objects.filter(run__crawl=crawl).update(fetched=count)


def test_new_counts_show_without_a_reload(crawls, crawl):
    fetched(crawl, 4711)

    expect(crawls.locator("#live")).to_contain_text("4,711")
    assert crawls.evaluate("document.body.dataset.mark") == "not reloaded"


def test_pause_refresh_stops_it_until_it_is_unticked(crawls, crawl):
    asked = []
    box = crawls.get_by_label("Pause refresh")
    box.check()
    crawls.on("request", lambda request: asked.append(request.url))
    fetched(crawl, 4711)

    crawls.clock.run_for(60_000)
    # the bell goes on counting: its number moves nothing on the page
    assert [url for url in asked if not url.endswith("/attention/count/")] == []
    expect(crawls.locator("#live")).not_to_contain_text("4,711")

    box.uncheck()
    expect(crawls.locator("#live")).to_contain_text("4,711")


def test_pause_refresh_is_remembered_on_the_next_page(crawls):
    crawls.get_by_label("Pause refresh").check()
    crawls.reload()

    expect(crawls.get_by_label("Pause refresh")).to_be_checked()


def test_nothing_is_swapped_while_nothing_changes(crawls):
    crawls.evaluate("document.querySelector('#live table').dataset.mark = 'the same'")

    for _ in range(3):
        with crawls.expect_response(
            lambda response: "hx-request" in response.request.headers
        ) as answer:
            crawls.clock.run_for(2_000)
        assert answer.value.status in (200, 304)

    assert crawls.evaluate("document.querySelector('#live table').dataset.mark") == "the same"


def test_the_refresh_tells_when_nobody_answers(crawls, watch):
    crawls.route("**/crawls/", lambda route: route.abort())
    crawls.clock.run_for(2_000)

    expect(crawls.get_by_text("No answer, reconnecting")).to_be_visible()

    crawls.unroute("**/crawls/")
    crawls.clock.run_for(2_000)
    expect(crawls.get_by_text("No answer, reconnecting")).to_have_count(0)
    watch.complaints.clear()  # of the answers that this test kept back


def test_everybody_chooses_how_often_and_it_holds_on_every_page_and_in_every_browser(
    crawls, crawl, browse
):
    choose(crawls, "1 min")

    for page in (crawls, browse("operator")):
        page.clock.install()
        page.goto(f"/crawls/{crawl.pk}/")
        assert page.get_by_label("Refresh every").input_value() == "60"
        asked = asks_of(page)
        page.clock.run_for(30_000)  # the clock goes on meanwhile, too
        assert asked == []
        with page.expect_response(lambda response: "hx-request" in response.request.headers):
            page.clock.run_for(30_000)


def test_off_is_off_and_the_page_tells_its_age_instead(crawls):
    choose(crawls, "off")
    asked = asks_of(crawls)

    crawls.clock.run_for(300_000)

    assert asked == []
    expect(crawls.locator("#age")).to_contain_text("5 min old")


def test_a_hidden_page_does_not_ask_until_it_is_looked_at(crawls, crawl):
    crawls.evaluate(
        "Object.defineProperty(document, 'hidden', { value: true, configurable: true })"
    )
    asked = asks_of(crawls)
    fetched(crawl, 4711)
    crawls.clock.run_for(60_000)
    assert asked == []

    crawls.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    expect(crawls.locator("#live")).to_contain_text("4,711")


def test_what_is_selected_stays_and_a_page_held_back_by_it_tells_its_age(crawls, crawl):
    crawls.evaluate("getSelection().selectAllChildren(document.querySelector('#live tbody th'))")
    selected = crawls.evaluate("String(getSelection())")
    fetched(crawl, 4711)
    with crawls.expect_response(lambda response: "hx-request" in response.request.headers):
        crawls.clock.run_for(2_000)
    crawls.clock.run_for(30_000)

    assert crawls.evaluate("String(getSelection())") == selected != ""
    expect(crawls.locator("#live")).not_to_contain_text("4,711")
    expect(crawls.locator("#age")).to_contain_text("s old")

    crawls.evaluate("getSelection().removeAllRanges()")
    crawls.clock.run_for(2_000)
    expect(crawls.locator("#live")).to_contain_text("4,711")
    expect(crawls.locator("#age")).to_be_hidden()


def test_the_focus_outlives_a_refresh(crawls, crawl):
    link = crawls.locator("#live").get_by_role("link", name="Library", exact=True)
    link.focus()
    fetched(crawl, 4711)

    expect(crawls.locator("#live")).to_contain_text("4,711")
    expect(link).to_be_focused()
