"""The lists of links, media and linked hosts are sorted by a column, page by page, and counted."""

from __future__ import annotations

import json
from functools import partial

import pytest
from django.core.management import call_command

from crawling.base.errors import BadOrder
from crawling.datasets.catch_up import catch_up
from crawling.models import Run
from crawling.orders.purposes import PRESETS, Purpose
from crawling.uses.link_check import reports
from crawling.uses.link_check.link_check import list_problems
from crawling.uses.link_check.list_orders import HostSort, LinkSort, MediaSort, TooManyMedia
from crawling.uses.link_check.problem_kinds import ProblemKind
from crawling.uses.link_check.reports import (
    count_hosts,
    count_links,
    count_media,
    list_hosts,
    list_links,
    list_media,
)
from tests.crawling.pages import browser, soup

#: images with and without text, on one page and on both, links with the same text, other hosts
PAGES = {
    "/": "<title>A</title><a href=/b>-b-</a> <a href=/b?2>same</a> <img src=/one.png alt=one>"
    "<a href=http://a-b.test/1>same</a> <img src=/lost.png> <img src=http://a-b.test:1/far.png>",
    "/b": "<title>B</title><a href=/>home</a> <img src=/one.png> <img src=/two.png>"
    "<a href=http://c.test/>c</a> <a href=http://a-b.test/2>z</a>",
    "/one.png": (200, {"Content-Type": "image/png"}, "1"),
    "/two.png": (200, {"Content-Type": "image/png"}, "2"),
}


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    site = shared.serve(PAGES)
    run = crawl_once(f"{site.url}/", purpose="links", check_external=False)
    shared.do(catch_up, run.pk)
    return run


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def each_page(find, **wanted):
    """All rows, two at a time."""
    rows, after = [], ""
    while after is not None:
        found, after = find(**wanted, after=after, most=2)
        rows += found
    return rows


def in_order(rows, sort, **columns):
    """The rows by the column of a sort; those that are equal stay as they are."""
    name = columns.get(sort.lstrip("-"), sort.lstrip("-"))
    return sorted(rows, key=lambda row: getattr(row, name), reverse=sort.startswith("-"))


@pytest.mark.parametrize("sort", LinkSort)
def test_links_are_sorted_by_each_column(run, sort):
    every, found = (each_page(partial(list_links, run), sort=one) for one in (None, sort))
    name = {"text": "anchor"}.get(sort.lstrip("-"), sort.lstrip("-"))

    keys = [getattr(row, name) for row in found]
    assert keys == sorted(keys, reverse=sort.startswith("-"))
    assert sorted(map(str, found)) == sorted(map(str, every))
    assert len(found) == count_links(run) > 8


@pytest.mark.parametrize("sort", MediaSort)
def test_media_are_sorted_by_each_column(run, sort):
    every = each_page(partial(list_media, run))

    found = each_page(partial(list_media, run), sort=sort)

    assert found == in_order(every, sort, address="url")
    assert [row.url for row in every] == sorted(row.url for row in every)
    assert len(found) == count_media(run) == 4


@pytest.mark.parametrize("sort", HostSort)
def test_hosts_are_sorted_by_each_column(run, sort):
    every = each_page(partial(list_hosts, run))

    found = each_page(partial(list_hosts, run), sort=sort)

    assert found == in_order(every, sort)
    assert len(found) == count_hosts(run) == 4
    assert {row.targets for row in found if row.host == "a-b.test"} == {2}


def test_a_list_that_is_narrowed_is_counted_as_it_is_narrowed(run):
    assert count_links(run, host="a-b.test") == 3
    assert count_links(run, kind="image") == len(each_page(partial(list_links, run), kind="image"))
    assert count_media(run, kind="media") == 0


def test_very_many_media_are_sorted_by_address_only(run, monkeypatch):
    monkeypatch.setattr(reports, "MOST_COUNTED_LINKS", 2)

    assert len(list_media(run, most=10)[0]) == 4
    with pytest.raises(TooManyMedia, match="sort by address"):
        list_media(run, sort=MediaSort.PAGES, most=10)


@pytest.mark.parametrize("cursor", ["x", "-", "7", "7x-http://h.test/", "1-1-1-x-"])
def test_what_is_no_cursor_is_refused(run, cursor):
    with pytest.raises(BadOrder):
        list_media(run, sort=MediaSort.PAGES, after=cursor.replace("1-1-1-x-", "-1-x"), most=2)
    with pytest.raises(BadOrder):
        list_links(run, sort=LinkSort.TEXT, after=cursor.replace("1-1-1-x-", "1-x-"), most=2)


@pytest.mark.parametrize(
    ("show", "head", "sort"),
    [("all", "Target", "target"), ("media", "Pages", "-pages"), ("hosts", "Links", "-links")],
)
def test_heads_sort_and_the_pager_says_which_rows_are_shown(run, show, head, sort, monkeypatch):
    monkeypatch.setattr("crawling.uses.link_check.pages.ROWS", 2)
    viewer, address = browser("viewer"), f"/crawls/{run.crawl_id}/links/"

    page = soup(viewer.get(address, {"show": show}))
    by_head = page.find("th", string=head).a["href"]
    first = soup(viewer.get(address + by_head))
    second = soup(viewer.get(address + first.select_one("nav.pager [rel=next]")["href"]))

    assert f"sort={sort}" in by_head
    assert first.select_one("th[aria-sort]").get_text() == head
    told = [one.select_one("nav.pager span").get_text() for one in (first, second)]
    count = {"all": count_links, "media": count_media, "hosts": count_hosts}[show](run)
    assert told == [f"1–2 of {count}", f"3–4 of {count}"]


def test_the_command_sorts_as_pages_do(run, capsys):
    call_command("links", "list", str(run.crawl_id), "--sort=-target", "--json")

    told = [json.loads(line)["target"] for line in capsys.readouterr().out.splitlines()]
    assert told == sorted(told, reverse=True)
    assert len(told) == count_links(run)


def test_programs_sort_as_pages_do(run):
    viewer, crawl = browser("viewer"), f"/api/v1/crawls/{run.crawl_id}"

    def items(path, **asked):
        return viewer.get(f"{crawl}/{path}", asked).json()["items"]

    assert items("links", sort="-target", limit=1)[0]["target"] == "http://c.test/"
    assert items("reports/media", sort="-pages", limit=1)[0]["pages"] == 3
    assert items("reports/hosts", sort="-links", limit=1)[0]["links"] > 3
    assert viewer.get(f"{crawl}/links", {"sort": "size"}).status_code == 422


def test_a_check_of_links_finds_broken_images(run):
    assert PRESETS[Purpose.LINKS]["requisites"]

    found, _ = list_problems(run, ProblemKind.BROKEN, most=10)

    assert [one.url.rpartition("/")[2] for one in found] == ["lost.png"]
    assert [(one.element, one.page) for one in found[0].sources] == [
        ("img", run.crawl.seeds[0]),
    ]
