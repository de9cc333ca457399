"""A crawl that waits for a browser page says so, names the crawl that has it, and when the wait may
end, as for every other class.
"""

from __future__ import annotations

import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from allocation.models import Pool
from allocation.services import set_capacity
from crawling.fetching.shift.grants import ShiftGrants
from crawling.models import CrawlJob
from tests.crawling.fetching.shift.test_browser_stage import MIB, shift_of
from tests.crawling.pages import browser, soup

PAGE = {"browsers": 1, "browser_memory": MIB}


@pytest.fixture
def waiting(browsers, loopback) -> CrawlJob:
    """A crawl that waits for the only page, which the crawl Birds has."""
    holder, waiter = (ShiftGrants(shift_of(name)) for name in ("Birds", "Atlas"))
    set_capacity(pool=browsers.pk, capacity=PAGE)
    assert holder.request_stage(PAGE, 30)
    assert not waiter.request_stage(PAGE, 30)
    return CrawlJob.objects.get(name="Atlas")


def test_the_pages_of_crawl_and_pool_name_what_is_missing_and_who_has_it(waiting):
    operator = browser("operator")

    crawl = soup(operator.get(reverse("crawling:crawl", args=[waiting.pk]))).get_text(" ")
    pool = reverse("allocation:pool", args=[Pool.objects.get().pk])
    resources = soup(operator.get(pool)).get_text(" ")

    for told in (crawl, resources):
        words = " ".join(told.split())
        assert "Waits for 1 browser (0 of 1 free)" in words
        assert "512 MB of browser memory" in words
        assert "Birds" in words


def test_the_lists_and_the_head_of_a_crawl_say_that_it_waits_for_a_browser_and_who_has_it(waiting):
    operator = browser("operator")
    crawl = soup(operator.get(reverse("crawling:crawl", args=[waiting.pk])))
    heads = crawl.select_one(".crawl-head .sentence")
    listed = soup(operator.get(reverse("crawling:crawls"))).select_one("#live")
    shown = StringIO()
    call_command("crawl", "show", "Atlas", stdout=shown)
    for told in (heads.get_text(" "), listed.get_text(" "), shown.getvalue()):
        words = " ".join(told.split())
        assert "Fetch threads wait for a browser. Waits for 1 browser (0 of 1 free)" in words
        assert re.search("Held by .*Birds", words)


def test_a_wait_for_safety_says_that_lower_claims_would_end_it(browsers, loopback):
    two = {"browsers": 2, "browser_memory": 2 * MIB}
    holder, waiter = (ShiftGrants(shift_of(name, claim=two)) for name in ("Birds", "Atlas"))
    set_capacity(pool=browsers.pk, capacity=two)
    assert holder.request_stage(PAGE, 30)
    assert not waiter.request_stage(PAGE, 30)
    crawl = CrawlJob.objects.get(name="Atlas")

    page = soup(browser("operator").get(reverse("crawling:crawl", args=[crawl.pk])))
    told = " ".join(page.select_one(".crawl-head .sentence").get_text(" ").split())
    assert "Enough is free, but it would not be safe" in told
    assert "Lower claims of browsers and browser memory would make the grant safe." in told


def test_json_names_the_blocker(waiting):
    answer = browser("operator").get(f"/api/v1/crawls/{waiting.pk}").json()

    [wait] = [one["wait"] for one in answer["resources"]]
    assert [(one["name"], one["resource"], one["units"]) for one in wait["blockers"]] == [
        ("Birds", "browsers", 1),
        ("Birds", "browser_memory", MIB),
    ]
