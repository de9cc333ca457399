"""A crawl reads documents that are not plain pages: sitemaps, requisites, copies, rows of
extraction rules.
"""

import gzip
import json
import random

import pytest
from django.urls import reverse

from crawling.base.errors import BadOrder
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.dashboard.pages.duplicates import SimilarityKind, list_alike
from crawling.models import ExtractedRow, Page
from crawling.runs.crawls.creation import clone_crawl, create_crawl, order_of
from tests.crawling.pages import browser, soup

WORDS = (
    "river",
    "stone",
    "bridge",
    "window",
    "paper",
    "garden",
    "winter",
    "letter",
    "silver",
    "mountain",
    "harbour",
    "candle",
)


def text(seed, words=300):
    told = random.Random(seed)
    return " ".join(told.choice(WORDS) + str(told.choice("abcdefgh")) for _ in range(words))


def links(*targets):
    return "".join(f'<a href="{target}">{target}</a>' for target in targets)


def test_sitemaps_that_robots_txt_names_are_read(make_site, crawl_to_the_end):
    site = make_site({"/": "home", "/only-mapped": "here", "/other": "there"})
    index = f"<sitemapindex><sitemap><loc>{site.url}/maps/1.xml.gz</loc></sitemap></sitemapindex>"
    packed = (
        f"<urlset><url><loc>{site.url}/only-mapped</loc></url><url><loc>http://elsewhere.test/</"
        "loc></url></urlset>"
    )
    site.pages["/robots.txt"] = (
        200,
        {},
        f"Sitemap: {site.url}/maps.xml\nSitemap: /maps.txt\nSitemap: http://elsewhere.test/map.xml",
    )
    site.pages["/maps.xml"] = (200, {"Content-Type": "application/xml"}, index)
    site.pages["/maps/1.xml.gz"] = (
        200,
        {"Content-Type": "application/x-gzip"},
        gzip.compress(packed.encode()),
    )
    site.pages["/maps.txt"] = (200, {"Content-Type": "text/plain"}, f"{site.url}/other\n")

    crawl_to_the_end(f"{site.url}/")

    assert sorted(site.paths) == [
        "/",
        "/maps.txt",
        "/maps.xml",
        "/maps/1.xml.gz",
        "/only-mapped",
        "/other",
    ]


def test_sitemaps_are_left_alone_where_no_link_may_be_followed(make_site, crawl_to_the_end):
    site = make_site({"/": "home", "/robots.txt": (200, {}, "Sitemap: /maps.xml")})

    crawl_to_the_end(f"{site.url}/", max_depth=0)

    assert site.paths == ["/"]


def test_what_pages_are_shown_with_is_fetched_if_ordered(make_site, crawl_to_the_end):
    site = make_site(
        {
            "/": "<link rel=stylesheet href=/s.css><img srcset='/1.png 1x, /2.png 2x'><a "
            "rel=nofollow href=/no>no</a>",
            "/s.css": (
                200,
                {"Content-Type": "text/css"},
                "@import 't.css'; p { background: url(/3.png) }",
            ),
        }
    )

    crawl_to_the_end(f"{site.url}/", requisites=True, obey_nofollow=True)

    assert sorted(site.paths) == ["/", "/1.png", "/2.png", "/3.png", "/s.css", "/t.css"]


def test_a_page_row_tells_what_the_page_says_of_itself(make_site, crawl_to_the_end):
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Last-Modified": "Tue, 03 Nov 2026 08:00:00 GMT",
        "Cache-Control": "public, max-age=60",
    }
    head = (
        "<html lang=en><title>T</title><meta name=author content=Me><meta name=description "
        "content=About><link rel=canonical href=/main>"
    )
    body = f"{head}<p>Body"
    site = make_site({"/": (200, headers, body + links("/a", "http://b.test/"))})

    crawl_to_the_end(f"{site.url}/", max_pages=1)

    page = Page.objects.get()
    assert (page.author, page.description, page.language, page.canonical) == (
        "Me",
        "About",
        "en",
        f"{site.url}/main",
    )
    assert (page.links, page.needs_browser, page.last_modified.isoformat()) == (
        3,
        False,
        "2026-11-03T08:00:00+00:00",
    )
    assert page.abstract.startswith("Body")
    assert (page.expires_at - page.fetched_at).total_seconds() == 60


def test_words_of_neighbouring_blocks_stand_apart_in_a_page_without_line_breaks(
    make_site, crawl_to_the_end
):
    text = "<h1>Books</h1><p>Two <a href=/a>new</a>, one<br>old (<b>here</b>).</p><ul><li>a<li>b"
    site = make_site({"/": f"<title>List</title>{text}<table><td>c<td>d"})
    crawl_to_the_end(f"{site.url}/", max_pages=1)

    assert Page.objects.get().abstract == "Books Two new, one old (here). a b c d"


def test_a_page_that_its_scripts_make_says_so(make_site, crawl_to_the_end):
    site = make_site({"/": "<title>App</title><div id=root></div><script src=/app.js></script>"})

    crawl_to_the_end(f"{site.url}/")

    assert Page.objects.get().needs_browser


def test_copies_are_told_of_with_the_page_that_had_the_content_first(make_site, crawl_to_the_end):
    missing = (404, {"Content-Type": "text/html"}, "same")
    site = make_site(
        {
            "/": links("/a", "/b", "/c", "/d", "/e"),
            "/a": "same",
            "/b": "same",
            "/c": "other",
            "/d": missing,
            "/e": "same",
        }
    )

    run = crawl_to_the_end(f"{site.url}/", batch_size=1)

    found, following = list_alike(run, SimilarityKind.EXACT, most=1)
    rest, end = list_alike(run, SimilarityKind.EXACT, after=following, most=10)
    assert [(row.url, row.of) for row in found + rest] == [
        (f"{site.url}/b", f"{site.url}/a"),
        (f"{site.url}/e", f"{site.url}/a"),
    ]
    assert end is None
    assert crawl_view(run.crawl).counts.duplicate == 2


def test_near_copies_are_found_and_others_are_not(make_site, crawl_to_the_end):
    pages = {f"/{seed}x": f"<p>{text(seed)}</p>" for seed in range(20)}
    pages["/near"] = f"<p>{text(7)} and 3 more</p>"
    site = make_site({"/": links(*sorted(pages)), **pages})

    run = crawl_to_the_end(f"{site.url}/")

    [row] = list_alike(run, SimilarityKind.NEAR, most=10)[0]
    assert {row.url, row.of} == {f"{site.url}/near", f"{site.url}/7x"}
    assert row.distance <= 3
    address, viewer = reverse("crawling:duplicates", args=[run.crawl_id]), browser("viewer")
    shown = soup(viewer.get(f"{address}?kind=near")).select_one("tbody tr")
    assert shown.select_one("th a")["href"] == reverse("crawling:page", args=[run.crawl_id, row.id])
    assert f"{64 - row.distance} of 64" in shown.get_text()
    compared = viewer.get(shown.find("a", string="Compare texts")["href"])
    words = " ".join(soup(compared).select_one("main").get_text().split())
    assert f"only {row.of} has begins with −; text that only {row.url} has begins with +" in words
    lines = viewer.get(f"/crawls/{run.crawl_id}/duplicates.jsonl?kind=near").getvalue().decode()
    assert json.loads(lines)["of_id"] == row.of_id


def test_pages_that_name_another_address_as_their_own_are_told_of(make_site, crawl_to_the_end):
    site = make_site(
        {"/": "<link rel=canonical href=/>" + links("/a?x=1"), "/a": "<link rel=canonical href=/a>"}
    )

    run = crawl_to_the_end(f"{site.url}/")

    [row] = list_alike(run, SimilarityKind.CANONICAL, most=10)[0]
    assert (row.url, row.of) == (f"{site.url}/a?x=1", f"{site.url}/a")


def test_extraction_rules_bring_rows(make_site, crawl_to_the_end):
    site = make_site({"/": f"<h1>Home</h1>{links('/a')}", "/a": "<h1>A</h1><b>1</b><b>2</b>"})

    run = crawl_to_the_end(
        f"{site.url}/", extract={"title": "h1", "number": "b", "link": "a::attr(href)"}
    )

    rows = (
        ExtractedRow.objects.filter(run=run).order_by("pk").values_list("url__url", "name", "value")
    )
    assert sorted(rows) == [  # JSON of PostgreSQL keeps no order of rules
        (f"{site.url}/", "link", f"{site.url}/a"),
        (f"{site.url}/", "title", "Home"),
        (f"{site.url}/a", "number", "1"),
        (f"{site.url}/a", "number", "2"),
        (f"{site.url}/a", "title", "A"),
    ]


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"extract": {"x": "a["}}, "extract", "is no CSS selector"),
        ({"extract": {"x": ""}}, "extract", "“x” has no “=”; write a name"),
        ({"extract": {"x": "a\0b"}}, "extract.x", "one line"),
        ({"extract": {str(n): "a" for n in range(51)}}, "extract", "at most 50"),
        ({"extract": ["a"]}, "extract", "must be a table"),
        ({"requisites": "maybe"}, "requisites", "must be true or false"),
        ({"obey_nofollow": 7}, "obey_nofollow", "must be true or false"),
    ],
)
def test_mistakes_in_how_pages_are_read_are_told(order, fields, field, sentence):
    with pytest.raises(BadOrder) as told:
        create_crawl(order("http://127.0.0.1:8000/", **fields))

    assert sentence in told.value.errors[field]


def test_a_clone_reads_pages_the_same_way(order):
    how = {"requisites": True, "obey_nofollow": True, "extract": {"x": "a"}}
    crawl = create_crawl(order("http://127.0.0.1:8000/", **how))

    assert order_of(clone_crawl(crawl)).items() >= how.items()
