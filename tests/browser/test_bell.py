"""The bell in the frame of every page."""

from __future__ import annotations

from django.core.cache import cache
from django.utils import timezone
from playwright.sync_api import expect

from crawling.models import Run
from crawling.models.jobs import RunState
from crawling.runs.start import start_run
from crawlsite import overview
from tests.browser.house import make_crawl


def test_the_bell_counts_what_needs_attention_and_leads_to_it(browse, make_web):
    cache.delete(overview.KEPT)
    run = start_run(make_crawl("Library", make_web().url))
    Run.objects.filter(pk=run.pk).update(state=RunState.FAILED, finished_at=timezone.now())
    problems = len(overview.open_problems())

    page = browse("viewer", "/hosts/")
    bell = page.get_by_role("link", name="Needs attention")

    expect(bell).to_have_accessible_name(f"Needs attention: {problems}")
    bell.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Needs attention")
    expect(page.get_by_role("link", name="Library")).to_be_visible()
