"""The lists of crawls and hosts as files: the same query as the page and as JSON, to the end."""

from __future__ import annotations

import csv
import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from crawling.models import CrawlJob, Host, RobotsFile
from crawling.runs.crawls.blocklist import block_host
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from dnscache import store
from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply
from serving.row_lines import lines_of
from tests.crawling.pages import browser, soup


@pytest.fixture
def operator(db):
    return browser("operator")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Files are read in several pieces, however few rows a test has."""
    monkeypatch.setattr("crawling.dashboard.crawls.listing.CHUNK", 2)
    monkeypatch.setattr("crawling.dashboard.hosts.listing.HOSTS", 2)


def text_of(answer):
    assert answer.status_code == 200
    return b"".join(answer.streaming_content).decode()


def table(client, address, **query):
    return list(csv.DictReader(text_of(client.get(address, query)).splitlines()))


def listed(client, address, **query):
    return [json.loads(line) for line in text_of(client.get(address, query)).splitlines()]


def without_times(crawl):
    """Moments are spelt in two ways."""
    return {name: value for name, value in crawl.items() if not name.endswith("_at")}


@pytest.fixture
def crawls(order):
    for number, name in enumerate(("Busy", "=SUM(A1)", "Atlas", "Caught", "Bees"), start=8900):
        create_crawl(order(f"http://127.0.0.1:{number}/", name=name))
    CrawlJob.objects.filter(name="Atlas").update(tags=["June", "=old"])


def test_the_list_of_crawls_as_a_file_is_what_its_page_finds_in_the_same_order(operator, crawls):
    address = reverse("crawling:crawls-file", args=["csv"])

    assert [row["name"] for row in table(operator, address)] == [
        "Bees",
        "Caught",
        "Atlas",
        "'=SUM(A1)",
        "Busy",
    ]
    assert [row["name"] for row in table(operator, address, sort="name", q="B")] == ["Bees", "Busy"]
    [atlas] = table(operator, address, tag="June", state="draft")
    assert (atlas["state"], atlas["tags"], atlas["fetched"]) == ("draft", "June =old", "0")
    assert text_of(operator.get(address, {"q": "nothing"})) == ""


def test_each_line_is_the_crawl_that_json_has_of_the_same_query(operator, crawls):
    start_run(create_crawl({"name": "Begun", "seeds": ["http://127.0.0.1:8999/"]}))
    query = {"sort": "name", "q": "b"}

    lines = listed(operator, reverse("crawling:crawls-file", args=["jsonl"]), **query)

    assert [line["name"] for line in lines] == ["Bees", "Begun", "Busy"]
    told = operator.get("/api/v1/crawls", query).json()["items"]
    assert [without_times(line) for line in lines] == [without_times(crawl) for crawl in told]
    page = soup(operator.get(reverse("crawling:crawls"), query))
    assert [link["href"].partition("?")[2] for link in page.select("a[href*='list.']")] == [
        "sort=name&q=b"
    ] * 2


def test_crawls_are_read_by_few_queries_a_piece(operator, crawls):
    with CaptureQueriesContext(connection) as captured:
        assert (
            len(table(operator, reverse("crawling:crawls-file", args=["csv"]), sort="-failed")) == 5
        )

    assert len(captured) <= 30


@pytest.fixture
def hosts(db):
    """One that is well, one whose name has no address, one whose robots.txt cannot be fetched, and
    one that is blocked.
    """
    for name in ("a.test", "b.test", "c.test:8080", "d.test"):
        Host.objects.create(name=name, dns_name=name.partition(":")[0])
    store.write_answers(
        [DnsAnswer("b.test", Reply(DnsStatus.SERVFAIL, error="it said so"), 0.0, 60.0, 60.0, 1)]
    )
    now = timezone.now()
    RobotsFile.objects.create(
        origin="https://c.test:8080", status=503, body=b"", fetched_at=now, expires_at=now
    )
    block_host(Host.objects.get(name="d.test"), "asked for")


def test_hosts_are_counted_by_state_and_each_count_leads_to_them(operator, hosts):
    address = reverse("hosts:hosts")
    tabs = {
        link.get_text(" ", strip=True): link["href"]
        for link in soup(operator.get(address)).select("nav.tabs a")
    }

    assert list(tabs) == ["all 4", "fetching 0", "with errors 2", "blocked 1"]
    found = {
        words: soup(operator.get(address + href)).select("tbody th a")
        for words, href in tabs.items()
    }
    assert [link.get_text() for link in found["with errors 2"]] == ["b.test", "c.test:8080"]
    assert [link.get_text() for link in found["blocked 1"]] == ["d.test"]


def test_the_list_of_hosts_as_a_file_is_what_its_page_and_json_find(operator, hosts):
    csv_file, lines = (reverse("hosts:hosts-file", args=[kind]) for kind in ("csv", "jsonl"))

    assert [row["name"] for row in table(operator, csv_file)] == [
        "a.test",
        "b.test",
        "c.test:8080",
        "d.test",
    ]
    assert [
        (row["name"], row["robots"]) for row in table(operator, csv_file, state="troubled", q="C.")
    ] == [("c.test:8080", "unavailable")]
    [blocked] = listed(operator, lines, state="blocked")
    assert (blocked["name"], blocked["blocked"]) == ("d.test", "asked for")
    assert [blocked["id"]] == [
        one["id"] for one in operator.get("/api/v1/hosts", {"state": "blocked"}).json()["items"]
    ]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_file_begins_before_its_last_row_is_read(kind):
    read = []
    lines = lines_of(({"number": read.append(number) or number} for number in range(10)), kind)

    next(lines)

    assert read == [0]
