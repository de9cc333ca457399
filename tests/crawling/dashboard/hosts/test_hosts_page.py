"""Every host that was met, blocking one for all crawls, and pages found by address or title."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from crawling.dashboard.hosts.listing import contains_text
from crawling.models import Host, Page, Url
from crawling.runs.crawls.blocklist import block_host, unblock_host
from crawling.runs.start import start_run
from tests.crawling.pages import browser, soup

HOSTS, SEARCH = reverse("hosts:hosts"), reverse("hosts:search")


@pytest.fixture
def viewer(db):
    return browser("viewer")


def names(response):
    return [cell.get_text(" ", strip=True) for cell in soup(response).select("tbody th")]


def test_a_blocked_host_is_fetched_by_no_crawl_until_it_is_let_go(
    make_site, crawl_to_the_end, work_off
):
    site = make_site({"/": '<a href="/a">a</a>', "/a": "x"})
    first = crawl_to_the_end(f"{site.url}/")
    host, operator = Host.objects.get(), browser("operator")
    boss = browser("administrator")
    page = reverse("hosts:host", args=[host.pk])
    asked_before = len(site.log)
    boss.post(reverse("hosts:block", args=[host.pk]), {"reason": "Its owner asked us to."})

    second = work_off(start_run(first.crawl))

    assert len(site.log) == asked_before
    [url] = Url.objects.filter(run=second)
    assert (url.state, "Its owner asked us to." in url.error) == ("x", True)
    assert "administrator blocked it" in soup(operator.get(page)).get_text(" ", strip=True)
    assert names(operator.get(HOSTS, {"state": "blocked"})) == [host.name]
    assert (
        operator.post(reverse("hosts:block", args=[host.pk]), {"unblock": "yes"}).status_code == 403
    )
    boss.post(reverse("hosts:block", args=[host.pk]), {"unblock": "yes"})
    work_off(start_run(first.crawl))
    assert len(site.log) > asked_before
    assert LogEntry.objects.filter(change_message__contains="the blocklist").count() == 2


def test_a_block_without_a_reason_is_refused_in_words(db):
    host, operator = Host.objects.create(name="a.test"), browser("administrator")

    answer = operator.post(reverse("hosts:block", args=[host.pk]), {"reason": " "}, follow=True)

    assert "the log of activity shows it" in answer.content.decode()
    assert names(operator.get(HOSTS, {"state": "blocked"})) == []


def test_hosts_are_listed_by_name_found_by_a_part_of_it_and_paged_in_a_fixed_number_of_queries(db):
    viewer = browser("viewer")
    Host.objects.bulk_create(
        Host(name=f"h{n:03}.test", due_at=timezone.now() + timedelta(hours=n)) for n in range(130)
    )

    def listed(**query):
        with CaptureQueriesContext(connection) as captured:
            answer = viewer.get(HOSTS, query)
        return names(answer), len(captured), soup(answer).find("a", rel="next")

    first, queries, following = listed()
    second = names(viewer.get(HOSTS + following["href"]))
    assert [*first, *second] == [f"h{n:03}.test" for n in range(130)]
    listed(q="H007")  # another filter than before is kept, by queries of its own
    few, queries_of_one, _ = listed(q="H007")
    assert (few, queries_of_one) == (["h007.test"], queries)
    assert queries <= 14


def test_very_many_hosts_are_counted_no_further(viewer, monkeypatch):
    Host.objects.bulk_create(Host(name=f"h{n}.test", due_at=timezone.now()) for n in range(12))
    monkeypatch.setattr("serving.paging.MOST_NUMBERED", 11)

    tabs = soup(viewer.get(HOSTS, {"q": "h"})).select(".tabs .count")
    assert [tab.text for tab in tabs] == ["11+", "0", "0", "0"]
    tabs = soup(viewer.get(HOSTS, {"q": "h1"})).select(".tabs .count")
    assert [tab.text for tab in tabs] == ["3", "0", "0", "0"]


def test_pages_of_all_crawls_are_found_by_address_or_title_whatever_their_case(
    make_site, crawl_to_the_end, viewer, monkeypatch
):
    site = make_site(
        {"/": '<title>The Atlas of Birds</title><a href="/Zebra">z</a>', "/Zebra": "x"}
    )
    crawl_to_the_end(f"{site.url}/")

    assert [name.split(" http")[0] for name in names(viewer.get(SEARCH, {"q": "atlas of b"}))] == [
        "The Atlas of Birds"
    ]
    assert [name.rpartition("/")[2] for name in names(viewer.get(SEARCH, {"q": "/zebra"}))] == [
        "Zebra"
    ]
    assert names(viewer.get(SEARCH, {"q": "100%"})) == []
    assert "3 characters or more" in viewer.get(SEARCH, {"q": "ab"}).content.decode()
    monkeypatch.setattr("crawling.dashboard.hosts.listing.LOOKED_AT", 1)
    assert "the latest of some of them" in viewer.get(SEARCH, {"q": "http"}).content.decode()


def test_the_search_reads_its_index(db):
    with connection.cursor() as cursor:
        for way in ("seqscan", "indexscan", "indexonlyscan"):
            cursor.execute(f"SET LOCAL enable_{way} = off")

    plan = Page.objects.filter(contains_text("zebra")).explain()

    assert plan.count("pages_by_words") == 2


def test_blocking_twice_or_letting_go_what_is_free_changes_nothing(db):
    host = Host.objects.create(name="a.test")

    assert block_host(host, "first").reason == block_host(host, "second").reason == "first"
    unblock_host(host)
    unblock_host(host)
    assert LogEntry.objects.count() == 2
