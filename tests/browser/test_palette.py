"""Ctrl-K finds crawls, hosts, pages, places and what can be done, by keyboard alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from crawling.models import Host
from crawling.uses.alerts.listeners import save_listener
from crawling.uses.collections.changes import CollectionFields, create_collection
from crawling.uses.extraction.extractors import save_extractor
from tests.browser.axe import violations
from tests.browser.house import furnish


@pytest.fixture
def palette(make_web, user_of, browse) -> Page:
    """The overview of a house full of crawls, with the palette open."""
    web = make_web()
    web.enough.set()
    furnish(web.url, by=user_of("operator"))
    page = browse("operator", "/")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Find anything")).to_be_visible()
    return page


def test_a_crawl_is_found_by_a_part_of_its_name_and_opened_by_return(palette):
    palette.keyboard.type("manu")
    found = palette.get_by_role("dialog").get_by_role("link", name="Manual")
    expect(found.first).to_be_visible()
    assert violations(palette) == []

    palette.keyboard.press("Enter")
    expect(palette.get_by_role("heading", level=1)).to_have_text("Manual")


def test_hosts_places_and_actions_are_found_too(palette):
    dialog = palette.get_by_role("dialog")
    host = Host.objects.earliest("pk")

    palette.keyboard.type(host.name)
    expect(dialog.get_by_role("link", name=f"{host.name} Host")).to_be_visible()
    pages = dialog.get_by_role("link").filter(has_text="Page · ")
    expect(pages.first).to_contain_text(f"Page · {host.name}")
    assert not [told for told in pages.all_inner_texts() if "undefined" in told]
    palette.keyboard.press("Control+a")
    palette.keyboard.type("resour")
    expect(dialog.get_by_role("link", name="Resources Place")).to_be_visible()
    palette.keyboard.press("Control+a")
    palette.keyboard.type("problems")
    news = dialog.get_by_role("link").filter(has_text="Problems and news")
    assert news.inner_text().count("Problems and news") == 1
    palette.keyboard.press("Control+a")
    palette.keyboard.type("new crawl")
    expect(dialog.get_by_role("button", name="New crawl Action")).to_be_visible()

    palette.keyboard.press("Enter")
    expect(palette).to_have_url("/crawls/new/")


def test_collections_extractors_and_alerts_are_found(palette, user_of):
    by = user_of("administrator")
    create_collection(CollectionFields("Zebras of the town"), by=by)
    save_extractor("Zebra prices", {"price": ".price"}, by=by)
    wish = {"name": "Zebra chat", "url": "https://chat.example.org/", "events": ["failed"]}
    save_listener(wish, by=by)
    dialog = palette.get_by_role("dialog")

    palette.keyboard.type("zebra")
    expect(dialog.get_by_role("link", name="Zebra prices Extractor")).to_be_visible()
    # an operator may not see alerts
    expect(dialog.get_by_role("link", name="Zebra chat")).to_have_count(0)
    dialog.get_by_role("link", name="Zebras of the town Collection").click()

    expect(palette.get_by_role("heading", level=1)).to_have_text("Zebras of the town")


def test_the_last_row_searches_texts_and_the_only_one_is_opened_by_enter(palette):
    rows = palette.get_by_role("dialog").get_by_role("listitem")

    palette.keyboard.type("manu")
    expect(rows.last).to_contain_text("Search the text of all pages for “manu”")
    assert rows.count() > 1
    palette.keyboard.press("Control+a")
    palette.keyboard.type("vacuum")
    palette.keyboard.press("Enter")

    expect(palette).to_have_url("/search/text/?q=vacuum")
    expect(palette.get_by_label("Words, or a phrase in quotes")).to_have_value("vacuum")


def test_what_is_nowhere_is_said_and_escape_closes(palette):
    palette.keyboard.type("nothing like it")
    expect(palette.get_by_role("dialog").get_by_role("status")).to_contain_text("Nothing has")

    palette.keyboard.press("Escape")
    expect(palette.get_by_role("dialog")).to_be_hidden()
