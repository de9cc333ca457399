"""The list of a run's pages: filtered by type, sorted by each column, and read page by page."""

from __future__ import annotations

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from crawling.dashboard.pages.filter import PageFilter
from crawling.dashboard.pages.page_kinds import PageKind
from crawling.dashboard.run.pages import SORT_WORDS, page_count, pages_of
from crawling.models import Page, Run
from serving import paging
from tests.crawling.pages import browser, soup

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


@pytest.fixture(scope="module")
def crawled(shared, crawl_once):
    site = shared.serve(
        {
            "/": "<title>Home</title>" + "".join(f"<a href=/{n}>{n}</a>" for n in "abcdef"),
            "/a": f"<title>A page</title>{'long ' * 200}",
            "/b": (200, {"Content-Type": "application/pdf"}, "%PDF-1.4\n%%EOF"),
            "/c": (200, {"Content-Type": "application/json"}, "{}"),
            "/d": (404, {}, "gone"),
            "/e": (200, {"Content-Type": "image/png"}, PNG),
            "/f": "<title></title>no title",
        }
    )
    return crawl_once(f"{site.url}/")


@pytest.fixture
def run(crawled, db):
    return Run.objects.get(pk=crawled.pk)


def paths(pages):
    return [page.url.url.rpartition("/")[2] for page in pages]


def read_through(run, sort, most):
    """All pages of the list, from one to the next and all the way back."""
    window = pages_of(run, PageFilter(), most=most, sort=sort)
    forward = [window]
    while window.following:
        window = pages_of(run, PageFilter(), most=most, sort=sort, after=window.following)
        forward.append(window)
    backward = [window]
    while window.preceding:
        window = pages_of(run, PageFilter(), most=most, sort=sort, before=window.preceding)
        backward.insert(0, window)
    return [paths(one.pages) for one in forward], [paths(one.pages) for one in backward]


@pytest.mark.parametrize("sort", SORT_WORDS)
@pytest.mark.parametrize("most", [1, 3, 7])
def test_a_sorted_list_has_each_page_once_in_order_and_leads_back(run, sort, most):
    name = sort.lstrip("-")
    whole = pages_of(run, PageFilter(), most=99, sort=sort).pages
    facts = {"fetched": "fetched_at", "status": "status", "size": "bytes", "type": "kind"}
    values = [getattr(page, facts[name]) for page in whole]

    forward, backward = read_through(run, sort, most)

    assert [path for part in forward for path in part] == paths(whole)
    assert backward == forward
    assert values == sorted(values, reverse=sort.startswith("-"))
    assert len(whole) == Page.objects.filter(run=run).count() == 7


def test_the_filter_by_type_goes_by_what_the_answer_is(run):
    found = {
        kind: sorted(paths(pages_of(run, PageFilter(kind=kind), most=9).pages))
        for kind in PageKind.values
    }

    assert {kind: names for kind, names in found.items() if names} == {
        "html": ["", "a", "f"],
        "pdf": ["b"],
        "image": ["e"],
        "data": ["c"],
        "text": ["d"],
    }
    assert page_count(run, PageFilter(kind="html")) == 3
    told = browser("viewer").get(f"/api/v1/crawls/{run.crawl_id}/pages", {"type": "image"}).json()
    assert [one["content_type"] for one in told["items"]] == ["image/png"]


def test_a_program_reads_the_list_in_each_order(run):
    viewer, address = browser("viewer"), f"/api/v1/crawls/{run.crawl_id}/pages"
    for sort in ("", *SORT_WORDS):
        found, cursor = [], ""
        while cursor is not None:
            asked = {"sort": sort, "limit": 2} | ({"cursor": cursor} if cursor else {})
            told = viewer.get(address, asked).json()
            found += [one["url"].rpartition("/")[2] for one in told["items"]]
            cursor = told["next"]
        whole = pages_of(run, PageFilter(), most=9, sort=sort).pages if sort else None
        expected = paths(whole or Page.objects.filter(run=run).order_by("pk"))
        assert found == expected, sort


def test_the_page_says_which_rows_it_shows_of_how_many(run, monkeypatch):
    monkeypatch.setattr("crawling.dashboard.run.views.page.PAGES", 3)
    viewer, address = browser("viewer"), reverse("crawling:pages", args=[run.crawl_id])
    told, page = [], soup(viewer.get(address))
    while True:
        told.append(page.select_one(".pager span").text)
        following = page.select_one(".pager a[rel=next]")
        if following is None:
            break
        page = soup(viewer.get(address + following["href"]))

    assert told == ["1–3 of 7", "4–6 of 7", "7–7 of 7"]
    back = soup(viewer.get(address + page.select_one(".pager a[rel=prev]")["href"]))
    assert back.select_one(".pager span").text == "4–6 of 7"


def test_titles_stand_first_and_an_error_is_told_in_words(run):
    page = soup(browser("viewer").get(reverse("crawling:pages", args=[run.crawl_id])))
    rows = {row.select_one(".url").text.rpartition("/")[2]: row for row in page.select("tbody tr")}

    assert rows["a"].select_one(".name").text == "A page"
    assert rows["f"].select_one(".name").text.endswith("/f")
    assert not rows["f"].select(".sub")
    assert rows["d"].select_one(".status.bad").text == "404 Not Found"
    assert rows["a"].select_one(".status").text == "200"
    assert not rows["a"].select(".status.bad")


def test_heads_sort_by_a_click_and_say_how_the_list_is_sorted(run):
    address = reverse("crawling:pages", args=[run.crawl_id])
    page = soup(browser("viewer").get(address, {"sort": "-size", "type": "html"}))
    head = page.select_one("th.size")

    assert head["aria-sort"] == "descending"
    assert head.a["href"] == "?sort=size&type=html"
    assert paths_of(page)[0] == "a"


def paths_of(page):
    return [one.text.rpartition("/")[2] for one in page.select("tbody td.page .url")]


def test_very_many_pages_are_counted_by_the_sums_of_the_run_and_found_ones_so_far(run, monkeypatch):
    monkeypatch.setattr(paging, "MOST_NUMBERED", 2)

    assert page_count(run, PageFilter()) == 7
    assert f"{page_count(run, PageFilter(kind='html')):,}" == "2+"


@pytest.mark.parametrize(
    ("wanted", "sort", "index"),
    [
        (PageFilter(), "-fetched", "pages_of_a_run_in_time"),
        (PageFilter(), "-status", "pages_by_status"),
        (PageFilter(), "size", "pages_by_size"),
        (PageFilter(), "type", "pages_by_kind"),
        (PageFilter(kind="pdf"), "-fetched", "pages_by_kind"),
        (PageFilter(status="404"), "-fetched", "pages_by_status"),
    ],
)
def test_each_order_and_filter_has_an_index_that_begins_where_the_page_does(
    run, wanted, sort, index
):
    end = pages_of(run, wanted, most=1, sort=sort).pages[0]
    with CaptureQueriesContext(connection) as captured:
        pages_of(run, wanted, most=1, sort=sort, after=end.pk)
    query = [one["sql"] for one in captured if "ORDER BY" in one["sql"]][-1]
    with transaction.atomic(), connection.cursor() as cursor:
        # statistics of the rows of other tests may favour another index
        cursor.execute("ANALYZE crawling_page, crawling_url")
        # a plan for seven rows would use no index
        for way in ("seqscan", "sort", "bitmapscan", "hashjoin", "mergejoin"):
            cursor.execute(f"SET LOCAL enable_{way} = off")
        cursor.execute(f"EXPLAIN {query}")
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert f"using {index} " in plan
    assert "ROW(" in plan.partition("Index Cond:")[2].partition("\n")[0]
