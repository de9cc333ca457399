"""The directories of a run's sites."""

from __future__ import annotations

import csv

import pytest
from django.urls import reverse

from crawling.dashboard.run import site_tree as tree_of
from crawling.dashboard.run.site_tree import directory_of, site_tree
from tests.crawling.frontier.test_claiming import ANSWER
from tests.crawling.frontiers import Frontier, outcome
from tests.crawling.pages import browser, soup

URLS = (
    "a.test/",
    "a.test/manual/",
    "a.test/manual/one.html",
    "a.test/manual/parts/two.html?page=1",
    "a.test/news/today",
    "b.test/x",
)


@pytest.fixture
def run(db):
    frontier = Frontier()
    frontier.sow(*URLS)
    frontier.lease()
    frontier.record(
        *(outcome(url, answer=ANSWER) for url in frontier.claim() if "today" not in url.url)
    )
    return frontier.run


def numbers(directories):
    return {one.path: (one.urls, one.fetched, one.bytes) for one in directories}


def size(run, part):
    return sum(run.pages.filter(url__url__contains=part).values_list("bytes", flat=True))


def test_each_directory_counts_all_that_stands_in_it(run):
    hosts = site_tree(run)
    inside = {one.name: one for one in hosts.root.largest}["a.test"].inside

    assert (hosts.root.urls, hosts.is_estimate) == (6, False)
    assert numbers(hosts.shown) == {
        "a.test/": (5, 4, size(run, "a.test/")),
        "b.test/": (1, 1, size(run, "b.test/")),
    }
    assert numbers(inside.values()) == {
        "a.test/manual/": (3, 3, size(run, "manual")),
        "a.test/news/": (1, 0, 0),
    }
    assert numbers(site_tree(run, "a.test/manual/").shown) == {
        "a.test/manual/parts/": (1, 1, size(run, "parts"))
    }


@pytest.mark.parametrize(
    ("url", "directory"),
    [
        ("http://a.test/", "a.test/"),
        ("http://a.test/x", "a.test/"),
        ("http://a.test:8080/x/?back=/y/z", "a.test:8080/x/"),
        ("ftp://a.test/pub/file", "a.test/pub/"),
    ],
)
def test_a_url_stands_in_the_directory_of_its_path(url, directory):
    assert directory_of(url) == directory


def test_a_larger_run_is_estimated_from_a_part_of_it_and_the_page_says_so(run, monkeypatch):
    monkeypatch.setattr(tree_of, "COUNTED", 5)
    monkeypatch.setattr(tree_of, "SAMPLED", 3)

    tree = site_tree(run)
    page = soup(browser("viewer").get(reverse("crawling:site-tree", args=[run.crawl_id])))

    assert (tree.looked_at, tree.is_estimate, tree.root.urls) == (3, True, 6)
    assert "estimates from 3 URLs" in page.main.get_text(" ", strip=True)


def test_the_page_folds_directories_without_scripts_and_leads_deeper(run):
    client, address = browser("viewer"), reverse("crawling:site-tree", args=[run.crawl_id])

    page = soup(client.get(address))
    deeper = soup(client.get(address, {"path": "a.test/manual"}))

    assert [link.get_text() for link in page.select(".site-tree li li a")] == ["manual/", "news/"]
    assert page.select_one(".site-tree li li a")["href"] == "?path=a.test%2Fmanual%2F"
    assert [link.get_text() for link in deeper.select(".site-tree li a")] == ["parts/"]
    assert "No URL of this run" in client.get(address, {"path": "c.test/"}).content.decode()


def test_the_numbers_are_had_as_csv_and_as_json(run):
    client = browser("viewer")
    page = soup(client.get(reverse("crawling:site-tree", args=[run.crawl_id])))

    file = b"".join(client.get(page.select_one("a[download]")["href"]).streaming_content)
    told = client.get(f"/api/v1/crawls/{run.crawl_id}/directories?path=a.test").json()

    rows = list(csv.DictReader(file.decode().splitlines()))
    assert [row["path"] for row in rows] == [
        "a.test/",
        "a.test/manual/",
        "a.test/news/",
        "b.test/",
    ]
    assert told["items"][0] == {
        "path": "a.test/manual/",
        "urls": 3,
        "fetched": 3,
        "failed": 0,
        "bytes": size(run, "manual"),
        "directories": 1,
    }
