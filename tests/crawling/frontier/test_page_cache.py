"""Content that one crawl has fetched is offered to another instead of a second request, as far as
its server allows.
"""

from __future__ import annotations

import gzip
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from crawling.dashboard.pages.page_cache import page_cache
from crawling.frontier.change.reusable_pages import count_requested_pages, delete_cold_pages
from crawling.frontier.rules.hotspots import (
    HALF_LIFE_SECONDS,
    LEAST_COUNT,
    decayed_count,
    increased_heat,
)
from crawling.frontier.run_counts import counts_of
from crawling.models import HotPage, Page, Run
from crawling.web.http_caching import may_be_reused

HTML = {"Content-Type": "text/html; charset=utf-8"}
REQUEST = b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"


def links(*paths: str) -> str:
    return "".join(f'<a href="{path}">x</a>' for path in paths)


def test_a_second_crawl_takes_what_may_be_taken_and_fetches_the_rest(make_site, crawl_to_the_end):
    packed = gzip.compress(b"<title>packed</title>" + b"word " * 500)
    site = make_site(
        {
            "/": links("/plain", "/packed", "/private", "/expired", "/gone", "/copy"),
            "/plain": "<title>plain</title> one text",
            "/copy": "<title>plain</title> one text",
            "/packed": (
                200,
                {**HTML, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"},
                packed,
            ),
            "/private": (200, {**HTML, "Cache-Control": "private, max-age=600"}, "mine"),
            "/expired": (200, {**HTML, "Cache-Control": "max-age=0"}, "old at once"),
        }
    )
    first = crawl_to_the_end(f"{site.url}/", name="first")
    asked = len(site.paths)
    second = crawl_to_the_end(f"{site.url}/", name="second", reuse_seconds=600)

    assert sorted(site.paths[asked:]) == ["/expired", "/gone", "/private"]
    assert pages_of(second) == pages_of(first)
    assert {
        page.url.url.removeprefix(site.url) for page in second.pages.exclude(reused_from=None)
    } == {"/", "/plain", "/packed", "/copy"}
    counts = counts_of([second.pk])[second.pk]
    assert (counts.fetched, counts.reused) == (7, 4)
    call_command("archive", "check", str(second.crawl_id))
    cache = page_cache(most=10)
    assert (cache.crawls, cache.answers, cache.saved, round(cache.hit_rate, 2)) == (1, 7, 4, 0.57)
    assert {(hot.url.removeprefix(site.url), hot.wanted, hot.reused) for hot in cache.hot} == {
        ("/", 1, 1), ("/plain", 1, 1), ("/packed", 1, 1), ("/copy", 1, 1), ("/private", 1, 0),
    }  # fmt: skip


def pages_of(run: Run) -> dict[str, tuple[object, ...]]:
    facts = ("status", "title", "bytes", "digest", "links", "is_revisit", "content_type")
    return {
        page.url.url: tuple(getattr(page, fact) for fact in facts)
        for page in run.pages.select_related("url")
    }


@pytest.mark.parametrize("who", ["first", "second"])
def test_a_crawl_that_shows_who_it_is_takes_none_and_gives_none(make_site, crawl_to_the_end, who):
    site = make_site({"/": "for members"})
    shown = {"headers": {"X-Member": "7"}}
    crawl_to_the_end(f"{site.url}/", name="first", **(shown if who == "first" else {}))
    crawl_to_the_end(
        f"{site.url}/", name="second", reuse_seconds=60, **(shown if who == "second" else {})
    )

    assert site.paths == ["/", "/"]


@pytest.mark.parametrize("why", ["too old", "not wanted", "spoilt"])
def test_every_page_is_asked_for_when_there_is_no_fresh_copy(make_site, crawl_to_the_end, why):
    site = make_site({"/": links("/a"), "/a": "a"})
    first = crawl_to_the_end(f"{site.url}/", name="first")
    if why == "too old":
        Page.objects.update(fetched_at=timezone.now() - timedelta(seconds=61))
    elif why == "spoilt":
        for row in first.archive_files.all():
            row.path.unlink()
    second = crawl_to_the_end(
        f"{site.url}/", name="second", reuse_seconds=0 if why == "not wanted" else 60
    )

    assert site.paths == ["/", "/a", "/", "/a"]
    assert counts_of([second.pk])[second.pk].reused == 0


@pytest.mark.parametrize(
    ("headers", "request_head", "may"),
    [
        ({}, REQUEST, True),
        ({"Cache-Control": "public, max-age=60", "Vary": "Accept-Encoding, Accept"}, REQUEST, True),
        *(
            ({"Cache-Control": word}, REQUEST, False)
            for word in ("no-store", "max-age=60, No-Cache", 'private="x"', "must-revalidate")
        ),
        ({"Pragma": "no-cache"}, REQUEST, False),
        ({"Vary": "*"}, REQUEST, False),
        ({"Vary": "Accept, Cookie"}, REQUEST, False),
        ({"Set-Cookie": "a=b"}, REQUEST, False),
        ({}, REQUEST.replace(b"\r\n\r\n", b"\r\ncookie: a=b\r\n\r\n"), False),
        ({}, REQUEST.replace(b"\r\n\r\n", b"\r\nAuthorization: Basic x\r\n\r\n"), False),
    ],
)
def test_what_is_one_askers_alone_is_not_reused(headers, request_head, may):
    assert may_be_reused(headers, request_head) is may


def test_a_count_halves_and_the_order_of_heats_is_that_of_counts():
    busy = increased_heat(increased_heat(None, 0.0), 0.0, by=7)
    late = increased_heat(None, 2 * HALF_LIFE_SECONDS, by=3)

    assert [round(decayed_count(busy, hours * HALF_LIFE_SECONDS), 6) for hours in range(4)] == [
        8,
        4,
        2,
        1,
    ]
    assert late > busy
    assert (
        round(decayed_count(increased_heat(busy, 3 * HALF_LIFE_SECONDS), 3 * HALF_LIFE_SECONDS), 6)
        == 2
    )


def test_pages_that_nobody_wants_any_more_are_forgotten(db):
    now = timezone.now()
    count_requested_pages(
        {"http://a.test/": True, "http://b.test/": False}, now - timedelta(hours=5)
    )
    count_requested_pages({"http://a.test/": True}, now)
    delete_cold_pages(now)

    row = HotPage.objects.get()
    assert (row.url, row.wanted, row.reused) == ("http://a.test/", 2, 2)
    assert 1 < decayed_count(row.heat, now.timestamp()) < 1 + LEAST_COUNT
