"""The report that a colleague fixes a site from: every link that is to be mended, by its page."""

from __future__ import annotations

import csv
from contextlib import ExitStack
from io import StringIO

import pytest
from django.test import Client

from crawling.dashboard.base import visitor_pages
from crawling.datasets.catch_up import catch_up
from crawling.datasets.second_reading import read_run_again
from crawling.models import Run, Url
from crawling.runs.crawls.share_links import create_share_link
from crawling.uses.link_check import fixes
from crawling.uses.link_check.fixes import all_fixes, fix_rows
from crawling.web.statuses import status_sentence
from tests.crawling.pages import browser, soup

PAGES = {
    "/": "<nav><a href='/gone'>Prices <b>&amp; more</b></a></nav><a href='/old'>Old</a>"
    "<a href='/a'>A</a><img src='/lost.png' alt='A map'><a href='/soon'>Soon</a>",
    "/a": "<a href='/gone'><img alt='Logo'></a><a href='/#nowhere'>Top</a><a href='/worse'>w</a>",
    "/old": (301, {"Location": "/older"}, ""),
    "/older": (308, {"Location": "/new"}, ""),
    "/new": "here",
    "/soon": (302, {"Location": "/new"}, ""),
    "/worse": (301, {"Location": "/gone"}, ""),
}
REMOVE = "Change the link to a page that is there, or remove it."


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    site = shared.serve(PAGES)
    run = crawl_once(f"{site.url}/", name="Shop", requisites=True)
    shared.do(catch_up, run.pk)
    shared.do(read_run_again, run.pk)
    return run


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


@pytest.fixture
def stranger():
    return Client(REMOTE_ADDR="198.51.100.7", HTTP_X_FORWARDED_FOR="")


def report_of(run):
    return f"/shared/{create_share_link(run.crawl, days=7, by=None)[1]}/"


def test_a_stranger_gets_each_link_by_its_page_with_what_to_do(run, stranger):
    address, site = report_of(run), run.crawl.seeds[0]
    report = soup(stranger.get(address))
    [link] = [one for one in report.select("main a") if one.get_text() == "What to fix, by page"]

    page = soup(stranger.get(address + link["href"]))
    assert "6 links on 3 pages" in page.main.get_text(" ", strip=True)
    sections = page.select("table.fixes tbody")
    assert [one.select_one("[scope=rowgroup]").get_text() for one in sections] == [
        *(site, f"{site}a", f"{site}worse")
    ]
    rows = [
        [cell.get_text(" ", strip=True) for cell in row.select("td")]
        for row in sections[0].select("tr:has(td)")
    ]
    assert rows == [
        ["“Prices & more” <a> in nav", f"{site}gone", "404 Not Found", REMOVE],
        ["“A map” <img>", f"{site}lost.png", "404 Not Found", REMOVE],
        [
            "“Old” <a>",
            f"{site}old",
            f"301, permanent: 2 redirects to {site}new, 200 OK.",
            f"Change the link to {site}new",
        ],
    ]
    assert "Change the redirect on the server." in sections[2].get_text()
    assert f"{site}worse" not in str(sections[1])  # its redirect is what has to be mended
    assert "On no page" not in page.get_text()


def test_the_same_is_a_table_of_which_pages_come_one_after_the_other(run, stranger):
    kept = b"".join(stranger.get(report_of(run) + "?file=fixes").streaming_content).decode()
    own = browser("viewer").get(f"/crawls/{run.crawl_id}/fixes.csv")

    rows = list(csv.DictReader(StringIO(kept)))
    assert b"".join(own.streaming_content).decode() == kept
    assert [row["page"] for row in rows] == sorted(row["page"] for row in rows)
    assert {row["text"] for row in rows} >= {"Prices & more", "Top", "A map"}
    old = next(row for row in rows if row["target"].endswith("/old"))
    assert old["new_target"].endswith("/new")


@pytest.mark.parametrize("limit", ["MOST_SORTED", "MOST_CHARACTERS"])
def test_a_longer_table_has_all_rows_as_they_are_found(run, monkeypatch, limit):
    in_order = list(fix_rows(run))
    monkeypatch.setattr(fixes, limit, 2)

    found = list(fix_rows(run))

    assert found == [vars(fix) for fix in all_fixes(run)] != in_order
    assert sorted(map(str, found)) == sorted(map(str, in_order))


def test_strangers_leave_threads_and_places_for_downloads_to_users(run, stranger):
    address, file = report_of(run), f"/crawls/{run.crawl_id}/fixes.csv"
    with ExitStack() as full:
        while visitor_pages.PAGES.acquire(blocking=False):
            full.callback(visitor_pages.PAGES.release)
        refused = stranger.get(f"{address}?fixes=all")
        assert (refused.status_code, refused["Retry-After"]) == (503, "10")
        assert stranger.get(address).status_code == 200
    for _ in range(3):  # each gives its place back
        assert stranger.get(f"{address}?fixes=all").status_code == 200

    slow = stranger.get(f"{address}?file=fixes")
    assert slow.status_code == 200
    assert stranger.get(f"{address}?file=fixes").status_code == 503
    assert b"".join(browser("viewer").get(file).streaming_content)
    slow.close()
    assert stranger.get(f"{address}?file=fixes").status_code == 200


def test_the_report_says_what_is_not_counted_yet(make_site, crawl_to_the_end, stranger):
    site = make_site(PAGES)
    run = crawl_to_the_end(f"{site.url}/", name="Shop")
    address = report_of(run)

    report = soup(stranger.get(address)).main.get_text(" ", strip=True)
    assert "pages are not read yet" in report
    assert "not counted yet –" in report
    assert "pages are not read yet" in soup(stranger.get(f"{address}?fixes=all")).get_text(" ")


def test_what_strangers_wrote_is_escaped(make_site, crawl_to_the_end, stranger):
    site = make_site({"/": "<a href='/x%3Cb%3E'>&lt;script&gt;alert(1)&lt;/script&gt;</a>"})
    run = crawl_to_the_end(f"{site.url}/", name="<i>")
    catch_up(run.pk)

    answer = stranger.get(f"{report_of(run)}?fixes=all").content

    assert b"<script>alert" not in answer
    assert b"&lt;script&gt;alert(1)" in answer


def test_failures_without_an_answer_are_told_in_words(run, stranger):
    Url.objects.filter(run=run, url__endswith="/gone").update(status=-3)

    page = soup(stranger.get(f"{report_of(run)}?fixes=all")).main.get_text(" ", strip=True)
    cells = [
        cell.get_text(strip=True) for cell in soup(stranger.get(report_of(run))).select("td, th")
    ]

    assert "Try it in a browser; if it fails there, too, change the link or remove it." in page
    assert status_sentence(-3) in page
    assert not [text for text in cells if text.startswith("-")]


def test_a_stranger_reads_how_many_links_are_unchecked(make_site, crawl_to_the_end, stranger):
    links = "".join(f"<a href='/{name}'>{name}</a>" for name in "abc")
    site = make_site({"/": links + "<a href='http://elsewhere.test/'>e</a>", "/a": "a"})
    run = crawl_to_the_end(f"{site.url}/", name="Shop", max_pages=2)
    catch_up(run.pk)
    read_run_again(run.pk)
    address = report_of(run)

    texts = [
        " ".join(soup(stranger.get(address + query)).main.get_text().split())
        for query in ("", "?fixes=all", "?kind=broken")
    ]
    texts.append(
        " ".join(soup(browser("viewer").get(f"/crawls/{run.crawl_id}/fixes/")).get_text().split())
    )

    for text in texts:
        assert "2 URLs were not fetched before the limit: links to them are not checked." in text
        assert "1 address is outside of the crawl's scope and not checked." in text
        assert "Images and links to other sites are not checked by this crawl." in text
    assert "Nothing to mend in what was checked" in texts[1]
    assert "No problem of this kind in what was checked." in texts[2]
    assert ["Set Check external links" in text for text in texts] == [False, False, False, True]
