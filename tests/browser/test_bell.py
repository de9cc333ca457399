"""The bell in the frame of every page."""

from __future__ import annotations

import re

from django.core.cache import cache
from django.utils import timezone
from playwright.sync_api import expect

from crawling.models import Run
from crawling.models.jobs import RunState
from crawling.runs.start import start_run
from crawling.uses.link_check.models import BrokenLinks
from crawlsite import news, overview
from tests.browser.house import make_crawl


def test_the_bell_counts_what_needs_attention_and_leads_to_it(browse, make_web):
    cache.delete(overview.KEPT)
    run = start_run(make_crawl("Library", make_web().url))
    Run.objects.filter(pk=run.pk).update(state=RunState.FAILED, finished_at=timezone.now())
    problems = len(overview.open_problems())

    page = browse("viewer", "/hosts/")
    bell = page.get_by_role("link", name="Problems and news")

    words = f"{problems} problem{'s' * (problems != 1)}"
    expect(bell).to_have_accessible_name(f"Problems and news: {words}")
    bell.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Problems and news")
    expect(page.get_by_role("link", name="Library")).to_be_visible()


def test_the_bell_tells_news_apart_until_they_are_read(browse, make_web):
    cache.delete_many([overview.KEPT, news.KEPT])
    page = browse("viewer", "/hosts/")
    run = start_run(make_crawl("Library", make_web().url))
    Run.objects.filter(pk=run.pk).update(state=RunState.FINISHED, finished_at=timezone.now())
    BrokenLinks.objects.create(run=run, broken=2, new=2, found_at=timezone.now())
    page.reload()
    bell = page.get_by_role("link", name="Problems and news")

    expect(bell).to_have_accessible_name(re.compile("1 unread news$"))
    expect(bell.locator(".badge.news")).to_have_text("1")
    # its words and counts keep one line, so no count moves what stands above
    assert bell.bounding_box()["height"] <= 33
    page.set_viewport_size({"width": 390, "height": 844})
    [count] = [one for one in bell.locator(".badge").all() if one.is_visible()]
    box, after = (
        one.bounding_box() for one in (count, page.locator("header details.menu > summary"))
    )
    assert box["x"] + box["width"] <= after["x"]
    page.set_viewport_size({"width": 1280, "height": 720})
    bell.click()
    expect(page.get_by_role("link", name="2 new broken links")).to_be_visible()
    with page.expect_navigation():
        page.get_by_role("button", name="Mark all as read").click()
    cache.delete(news.KEPT)
    page.reload()
    expect(page.get_by_role("button", name="Mark all as read")).to_have_count(0)
    expect(bell).not_to_have_accessible_name(re.compile("unread"))
