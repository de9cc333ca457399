"""Pages stay fresh by themselves, unless whoever reads them says stop."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from crawling.models import CrawlJob, RunCount, RunTotal
from crawling.services.creating import start_run
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


def fetched(crawl: CrawlJob, count: int) -> None:
    """What a worker writes."""
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
    assert asked == []
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
        with crawls.expect_response(lambda response: "hx-request" in response.request.headers) as answer:
            crawls.clock.run_for(2_000)
        assert answer.value.status in (200, 304)

    assert crawls.evaluate("document.querySelector('#live table').dataset.mark") == "the same"


def test_the_refresh_tells_when_nobody_answers(crawls, watch):
    crawls.route("**/crawls/", lambda route: route.abort())
    crawls.clock.run_for(2_000)

    expect(crawls.get_by_text("No answer; as of")).to_be_visible()

    crawls.unroute("**/crawls/")
    crawls.clock.run_for(2_000)
    expect(crawls.get_by_text("No answer; as of")).to_have_count(0)
    watch.complaints.clear()  # of the answers that this test kept back
