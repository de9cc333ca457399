"""The hosts of a crawl come first; hosts that it only asks about links are behind a filter."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crawling.models import Host
from tests.crawling.pages import browser, soup


@pytest.fixture
def run(make_site, crawl_to_the_end):
    elsewhere = make_site({"/there": "there"}, address="127.0.0.2")
    away = make_site({"/": "gone"}, address="127.0.0.3")
    home = make_site({"/": f"<a href='{elsewhere.url}/there'>a</a><a href='{away.url}/'>b</a>"})
    return crawl_to_the_end(f"{home.url}/", check_external=True)


def names(page):
    return sorted(row.get_text().partition(":")[0] for row in page.select(".hosts tbody th"))


def test_a_list_begins_with_the_hosts_in_the_scope_and_counts_the_others(run):
    address, viewer = f"/crawls/{run.crawl_id}/hosts/", browser("viewer")
    page = soup(viewer.get(address))

    counts = {link.get_text(" ", strip=True): link["href"] for link in page.select("nav.ways a")}
    assert list(counts) == ["Hosts of the crawl 1", "Other hosts 2", "All"]
    assert names(page) == ["127.0.0.1"]
    others = soup(viewer.get(address + counts["Other hosts 2"]))
    assert names(others) == ["127.0.0.2", "127.0.0.3"]
    assert "outside the scope" in others.get_text()
    assert len(names(soup(viewer.get(address + counts["All"])))) == 3
    found = soup(viewer.get(f"{address}?which=other&q=0.3"))
    assert names(found) == ["127.0.0.3"]
    assert found.select_one("form.filter [name=which]")["value"] == "other"


def test_programs_have_the_same(run):
    viewer, address = browser("viewer"), f"/api/v1/crawls/{run.crawl_id}/hosts"

    found = {
        which: len(viewer.get(address, {"which": which}).json()["items"])
        for which in ("crawl", "other", "all")
    }

    assert found == {"crawl": 1, "other": 2, "all": 3}
    assert len(viewer.get(address).json()["items"]) == 3


def test_a_crawl_that_stays_in_its_scope_has_no_filter_and_asks_no_more(
    make_site, crawl_to_the_end
):
    run = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/")
    viewer, address = browser("viewer"), f"/crawls/{run.crawl_id}/hosts/"
    with CaptureQueriesContext(connection) as asked:
        page = soup(viewer.get(address))

    assert not page.select("nav.ways a")
    assert names(page) == ["127.0.0.1"]
    assert not [one for one in asked.captured_queries if '"crawling_url"' in one["sql"]]


def test_a_delay_that_is_longer_than_the_crawls_says_so(make_site, crawl_to_the_end):
    run = crawl_to_the_end(f"{make_site({'/': 'x'}).url}/", delay_seconds=0.5)
    page, viewer = f"/crawls/{run.crawl_id}/hosts/", browser("viewer")

    def delay():
        cell = soup(viewer.get(page)).select(".hosts tbody td.number")[-1]
        return " ".join(cell.get_text(" ").split()), cell.small

    assert delay() == ("500 ms", None)
    Host.objects.update(delay_seconds=2)
    told, reason = delay()
    assert told == "2 s more than the crawl’s 500 ms"
    assert "robots.txt" in reason["title"]
