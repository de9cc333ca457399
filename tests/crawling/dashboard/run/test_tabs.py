"""From each page of a crawl, and of the resources, one step leads to all that belong to it."""

from __future__ import annotations

import pytest
from django.urls import reverse

from allocation.models import Pool
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.crawling.conftest import loopback, order, pool  # noqa: F401  # fixtures
from tests.crawling.pages import browser, soup

OF_A_CRAWL = {
    "crawl": "Overview",
    "pages": "Pages",
    "not-fetched": "Not fetched",
    "links": "Links",
    "frontier": "Queue",
    "hosts": "Hosts",
    "log": "Log",
    "charts": "Charts",
    "runs": "Runs",
    "settings": "Settings",
}
#: pages that stand under a tab
UNDER = {
    "schedule": "Settings",
    "scope": "Settings",
    "checkpoints": "Settings",
    "archive": "Pages",
    "duplicates": "Pages",
    "wacz": "Pages",
    "mirror": "Pages",
    "latest-mirror": "Pages",
    "withdrawals": "Pages",
    "watches": "Pages",
    "freshness": "Pages",
    "link-changes": "Runs",
    "copies": "Pages",
    "structured-data": "Pages",
    "graph": "Links",
    "site-tree": "Pages",
}
#: pages below *Pages*, and the tab that each stands under there
BELOW_PAGES = {
    "pages": "List",
    "archive": "List",
    "wacz": "List",
    "site-tree": "Tree",
    "structured-data": "Data",
    "extracted": "Data",
    "freshness": "Data",
    "withdrawals": "Data",
    "duplicates": "Duplicates",
    "copies": "Duplicates",
    "watches": "Watches",
}
OF_RESOURCES = {
    "pool": "In use and waiting",
    "sequence": "Safe sequence",
    "events": "Events",
    "history": "History",
}


@pytest.fixture
def crawl(order, db):  # noqa: F811
    return start_run(create_crawl(order("http://127.0.0.1:8900/"))).crawl


def tabs(address: str, level: int = 0) -> tuple[list[str], list[str]]:
    """The tabs of a page, and which of them is shown as here."""
    found = soup(browser("viewer").get(address)).select("nav.tabs")[level].select("a")
    here = [link.get_text() for link in found if link.get("aria-current")]
    return [link.get_text() for link in found], here


@pytest.mark.parametrize(("route", "name"), [*OF_A_CRAWL.items(), *UNDER.items()])
def test_each_page_of_a_crawl_leads_to_all_others_and_says_where_one_is(crawl, route, name):
    address = reverse(f"crawling:{route}", args=[crawl.pk])

    assert tabs(address) == (list(OF_A_CRAWL.values()), [name])


@pytest.mark.parametrize(("route", "name"), BELOW_PAGES.items())
def test_each_page_below_pages_leads_to_five_tabs_and_says_where_one_is(crawl, route, name):
    address = reverse(f"crawling:{route}", args=[crawl.pk])

    names = ["List", "Tree", "Data", "Duplicates", "Watches"]
    assert tabs(address, level=1) == (names, [name])


@pytest.mark.parametrize(
    ("routes", "names"),
    [
        (
            {"structured-data": 0, "extracted": 1, "freshness": 2, "withdrawals": 3},
            ["Structured data", "Extracted fields", "Freshness", "Taken down"],
        ),
        (
            {"duplicates": 0, "copies": 3},
            ["Exact duplicates", "Near duplicates", "Other canonical URL", "Clusters"],
        ),
    ],
)
def test_pages_that_stand_under_one_tab_are_listed_at_the_side_of_each(crawl, routes, names):
    viewer = browser("viewer")
    for route, place in routes.items():
        page = soup(viewer.get(reverse(f"crawling:{route}", args=[crawl.pk])))
        found = page.select_one("nav.side").select("a")

        assert [link.get_text() for link in found] == names
        assert [link.get_text() for link in found if link.get("aria-current")] == [names[place]]


def test_the_files_of_pages_are_in_one_menu_and_are_those_of_the_filter(crawl):
    operator = browser("operator")
    page = soup(operator.get(reverse("crawling:pages", args=[crawl.pk]), {"type": "pdf"}))
    files = {link.get_text(): link["href"] for link in page.select("#downloads a")}
    orders = [button.get_text() for button in page.select("#downloads button")]

    groups = [head.get_text() for head in page.select("#downloads li > strong")]
    archive = ["WACZ file and replay", "Mirror", "WARC", "Archive files"]
    shown = [one.get_text() for one in page.select("#downloads li")]
    csv = "List of pages (CSV)"
    assert groups == ["Archive", "Data"]
    assert shown[:2] == ["Archive", "Archive (WACZ)"]
    assert list(files) == [*archive, "All data", csv, "List of pages (JSON Lines)"]
    assert orders == ["Archive (WACZ)", "Text and tables"]
    assert files[csv].endswith("/pages.csv?type=pdf&run=1")
    other = soup(operator.get(reverse("crawling:freshness", args=[crawl.pk])))
    [rows] = [link for link in other.select("#downloads a") if link.get_text() == csv]
    assert rows["href"].endswith("/pages.csv?run=1")


def test_a_crawl_that_was_never_started_has_no_tabs_of_a_run(order, db):  # noqa: F811
    crawl = create_crawl(order("http://127.0.0.1:8900/"))

    names, _ = tabs(reverse("crawling:crawl", args=[crawl.pk]))

    assert names == ["Overview", "Runs", "Settings"]


@pytest.mark.parametrize(("route", "name"), OF_RESOURCES.items())
def test_each_page_of_the_resources_leads_to_all_others(crawl, route, name):
    address = reverse(f"allocation:{route}", args=[Pool.objects.get().pk])

    others = ["Limits", "What if", "Capacity planner", "Experiments"]
    assert tabs(address) == ([*OF_RESOURCES.values(), *others], [name])


def test_the_pages_of_names_are_under_system(crawl):
    assert tabs(reverse("dnscache:overview")) == (
        ["Status", "DNS cache", "Why is a host waiting?"],
        ["DNS cache"],
    )


def test_the_frame_has_seven_places(crawl):
    page = soup(browser("viewer").get(reverse("home")))

    assert [link.get_text() for link in page.select(".places a")] == [
        "Overview",
        "Crawls",
        "Collections",
        "Search",
        "Hosts",
        "Resources",
        "System",
    ]
