"""An element that a user points at in a stored page becomes a rule, and nothing of the stored page
runs.
"""

from __future__ import annotations

from playwright.sync_api import expect

from crawling.models import Page
from crawling.runs.start import start_run
from tests.browser.house import make_crawl
from tests.crawling.conftest import do_shifts

STORED = """<!doctype html><title>Lamp</title><script>document.title = "ran"</script>
<body onload="document.body.id = 'ran'"><div id=stage><p>Our lamp</p>
<span class=price onclick="document.body.id = 'ran'">EUR 12,50</span> <a href=/more>more</a></div>
<img src=x onerror="document.body.id = 'ran'">"""


def test_an_element_that_is_pointed_at_becomes_a_rule(browse, make_web, make_site, user_of):
    make_web()
    site = make_site({"/": STORED, "/more": STORED})
    run = do_shifts(start_run(make_crawl("Lamps", f"{site.url}/", by=user_of("operator"))))
    stored = Page.objects.filter(run=run).earliest("pk")
    page = browse("operator", f"/crawls/{run.crawl_id}/pages/{stored.pk}/fields/")
    frame = page.frame_locator("#stored")

    frame.get_by_text("EUR 12,50").click()
    page.get_by_label("Name", exact=True).fill("price")
    page.get_by_label("Type", exact=True).select_option("Price")
    with page.expect_navigation():
        page.get_by_role("button", name="Add and try").click()

    assert page.get_by_label("One rule per line").input_value() == "price = .price::price"
    assert frame.locator("body").get_attribute("id") is None
    assert frame.locator("title").inner_text() == "Lamp"
    assert frame.locator("body").evaluate("() => window.origin") == "null"


def test_an_element_that_is_pointed_at_offers_its_attributes(browse, make_web, make_site, user_of):
    make_web()
    site = make_site({"/": STORED, "/more": STORED})
    run = do_shifts(start_run(make_crawl("Lamps", f"{site.url}/", by=user_of("operator"))))
    stored = Page.objects.filter(run=run).earliest("pk")
    page = browse("operator", f"/crawls/{run.crawl_id}/pages/{stored.pk}/fields/")

    page.frame_locator("#stored").get_by_text("more").click()
    takes = page.get_by_label("Takes", exact=True)
    expect(takes.locator("option")).to_have_text(["Its text", "href: /more"])
    takes.select_option("::attr(href)")
    page.get_by_label("Name", exact=True).fill("next")
    with page.expect_navigation():
        page.get_by_role("button", name="Add and try").click()

    assert page.get_by_label("One rule per line").input_value().endswith("::attr(href)")
