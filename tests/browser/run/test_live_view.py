"""The live view asks for pictures while its tab is shown, and only then."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from crawling.models import CrawlJob
from crawling.runs.start import start_run
from tests.browser.house import make_crawl

HIDES = "isHidden = {}; document.dispatchEvent(new Event('visibilitychange'))"
IS_HIDDEN = "isHidden = false; Object.defineProperty(document, 'hidden', {get: () => isHidden})"


def test_a_hidden_tab_asks_for_no_picture(make_web, operator: Page):
    crawl: CrawlJob = make_crawl("Library", make_web().url)
    start_run(crawl)
    asked: list[str] = []
    operator.on("request", lambda one: asked.append(one.url) if "live-view" in one.url else None)
    operator.add_init_script(IS_HIDDEN)
    operator.clock.install()
    operator.goto(f"/crawls/{crawl.pk}/live-view/")
    expect(operator.get_by_text("The order of this crawl renders no page.")).to_be_visible()

    def see() -> None:
        with operator.expect_response("**/live-view/?run=1"):
            operator.clock.run_for(3_000)

    see()
    see()
    operator.evaluate(HIDES.format("true"))
    before = len(asked)
    operator.clock.run_for(10_000)
    operator.wait_for_load_state("networkidle")
    assert len(asked) == before
    operator.evaluate(HIDES.format("false"))
    see()
