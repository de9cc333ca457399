"""The URLs that a run has not got: counted by reason, each of which leads to its addresses, on the
page, in JSON and as files.
"""

from __future__ import annotations

import csv
import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from crawling.models import Run
from crawling.web.statuses import FetchStatus
from tests.crawling.pages import browser, soup

LINKS = ("/private/x", "/gone", "/copy", "/image", "/a.zip", "/b.zip", "http://elsewhere.test/")


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    """A run that met something of everything."""
    home = "".join(f'<a href="{link}">x</a>' for link in ("/first", *LINKS))
    pages = {
        "/": home,
        "/robots.txt": "User-agent: *\nDisallow: /private/",
        "/first": "the same words",
        "/copy": "the same words",
    }
    site = shared.serve({**pages, "/image": (200, {"Content-Type": "image/png"}, "png")})
    return crawl_once(f"{site.url}/", exclude=[r"\.zip$"], types=["text/*"])


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def viewer(db):
    return browser("viewer")


def address_of(run):
    return reverse("crawling:not-fetched", args=[run.crawl_id])


def reasons(page):
    return {
        link.contents[0].strip(): link.select_one(".number").get_text()
        for link in page.select("nav[aria-label=Reasons] li a")
    }


def paths(page):
    return [
        link.get_text().partition("//")[2].partition("/")[2]
        for link in page.select("main tbody th a")
    ]


def test_everything_that_is_not_there_is_counted_by_reason(viewer, run):
    assert reasons(soup(viewer.get(address_of(run)))) == {
        "Rule 5, exclude": "2",
        "Rule 6, scope": "1",
        "404 Not Found": "1",
        "The site's robots.txt forbids this page.": "1",
        "The document's type is none that the crawl takes; only the answer's head was read.": "1",
        "The content of another page of the run": "1",
    }


def test_each_reason_leads_to_its_addresses_and_to_where_they_were_found(viewer, run):
    page = soup(viewer.get(address_of(run)))
    found = {}
    for link in page.select("nav[aria-label=Reasons] li a"):
        listed = soup(viewer.get(address_of(run) + link["href"]))
        found[link.contents[0].strip()] = paths(listed)
        assert listed.select_one("main tbody td:last-child").get_text().endswith("/")

    assert next(iter(found.values())) == ["a.zip", "b.zip"]
    others = [[""], ["copy"], ["gone"], ["image"], ["private/x"]]
    assert sorted(list(found.values())[1:]) == others
    assert (
        "as http"
        in soup(viewer.get(address_of(run), {"why": "copy"}))
        .select_one("main tbody th small")
        .get_text()
    )


def test_addresses_are_paged_by_key_in_a_fixed_number_of_queries(viewer, run, monkeypatch):
    monkeypatch.setattr("crawling.dashboard.pages.views.ROWS_NOT_FETCHED", 1)

    with CaptureQueriesContext(connection) as captured:
        first = soup(viewer.get(address_of(run), {"why": "rule-exclude"}))
    second = soup(viewer.get(address_of(run) + first.find("a", rel="next")["href"]))

    assert (paths(first), paths(second), second.find("a", rel="next")) == (
        ["a.zip"],
        ["b.zip"],
        None,
    )
    assert len(captured) <= 14


def test_the_same_is_had_as_files_and_as_json(viewer, run, monkeypatch):
    monkeypatch.setattr("crawling.dashboard.pages.not_fetched.CHUNK", 1)
    table, lines = (
        reverse("crawling:not-fetched-file", args=[run.crawl_id, kind]) for kind in ("csv", "jsonl")
    )

    rows = list(csv.DictReader(b"".join(viewer.get(table).streaming_content).decode().splitlines()))
    assert [row["url"].rpartition("/")[2] for row in rows] == [
        "a.zip",
        "b.zip",
        "",
        "gone",
        "image",
        "x",
        "copy",
    ]
    [gone] = [
        json.loads(line)
        for line in b"".join(viewer.get(lines, {"why": "f404"}).streaming_content)
        .decode()
        .splitlines()
    ]
    assert (gone["kind"], gone["reason"], gone["url"].rpartition("/")[2]) == (
        "failed",
        "404 Not Found",
        "gone",
    )
    told = viewer.get(
        f"/api/v1/crawls/{run.crawl_id}/not-fetched", {"reason": "rule-exclude", "limit": 1}
    ).json()
    assert ([item["url"].rpartition("/")[2] for item in told["items"]], len(told["reasons"])) == (
        ["a.zip"],
        6,
    )
    rest = viewer.get(
        f"/api/v1/crawls/{run.crawl_id}/not-fetched",
        {"reason": "rule-exclude", "cursor": told["next"]},
    ).json()
    assert ([item["url"].rpartition("/")[2] for item in rest["items"]], rest["next"]) == (
        ["b.zip"],
        None,
    )


@pytest.mark.parametrize("why", ["", "f", "q200", "f9999999", "x-", "rule-", "nonsense", "\0"])
def test_without_a_known_reason_the_most_frequent_one_is_open(viewer, run, why):
    page = soup(viewer.get(address_of(run), {"why": why}))

    here = page.select("nav[aria-label=Reasons] [aria-current]")
    assert [one.contents[0].strip() for one in here] == ["Rule 5, exclude"]
    assert paths(page) == ["a.zip", "b.zip"]


def test_counts_on_the_crawls_page_lead_here_and_failures_can_be_tried_again(viewer, run):
    page = soup(viewer.get(reverse("crawling:crawl", args=[run.crawl_id])))
    link = page.select_one("[aria-labelledby=statuses] a[href*='why=f404']")
    assert paths(soup(viewer.get(link["href"]))) == ["gone"]
    operators = soup(browser("operator").get(link["href"]))

    button = operators.find("button", string="Retry 1 URL")

    assert (button["formaction"], button["name"], button["value"]) == (
        reverse("crawling:retry", args=[run.crawl_id]),
        "status",
        "404",
    )
    assert soup(viewer.get(link["href"])).find("button", string="Retry 1 URL") is None


def test_who_can_allow_an_address_that_is_not_public_is_told_where_it_failed(crawl_to_the_end):
    run = crawl_to_the_end("http://10.1.2.3/")
    places = (f"/crawls/{run.crawl_id}/", f"{address_of(run)}?why=f{FetchStatus.ADDRESS_REFUSED}")
    boss, operator = browser("administrator"), browser("operator")

    for place in places:
        assert soup(boss.get(place)).find("a", string="Allow the address")
        assert "Ask an administrator to allow the address" in operator.get(place).content.decode()
