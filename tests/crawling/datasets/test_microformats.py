"""Microformats of pages are read by a program of its own, within limits."""

from __future__ import annotations

import json
import re
import time

import pytest
import turbohtml
from mf2py import datetime_helpers, dom_helpers, mf2_classes

from crawling.datasets import microformats
from crawling.datasets.catch_up import catch_up
from crawling.datasets.microformats import MOST_MARKUP, MicroformatsReader, root_markup
from tests.crawling.pages import browser
from tests.crawling.reading import read_to_the_end
from tests.crawling.web.test_expressions_are_linear import in_a_process, slowest

ENTRY = """<base href=/b/><article class="h-entry h-full"><a class="u-url p-name" href=a>First</a>
<time class=dt-published datetime="2026-01-02T03:04:05Z">x</time><div class=e-content>A <b>text</b>
</div><a class="p-author h-card" href=/me><img class=u-photo src=i.png alt=Me></a></article>"""
CLASSIC = """<div class=hfeed><div class=hentry><h2 class=entry-title><a rel=bookmark href=/p>Older
</a></h2><span class="author vcard"><span class=fn>Bob</span></span><a rel=tag href=/t/x>t</a>
<abbr class="published updated" title=2026-03-04>x</abbr></div></div>"""
PLAIN = '<div class="h-full h-4 search-x"><span class=fn>Nobody</span></div>'
#: an item is read once for each property that it is
DOUBLED = '<div class="h-a p-b p-c">' * 30


@pytest.fixture(scope="module")
def reader():
    with MicroformatsReader() as one:
        yield one


@pytest.fixture
def items(reader):
    return lambda html: reader.items(turbohtml.parse(html), "http://a.test/b/")


def test_both_forms_are_read_with_what_is_in_them(items):
    (entry,) = items(ENTRY)
    feed, older = items(CLASSIC)

    assert (entry.type, entry.name) == ("h-entry", "First")
    assert entry.value == {
        "@type": "h-entry",
        "name": "First",
        "url": "http://a.test/b/a",
        "published": "2026-01-02T03:04:05Z",
        "content": "A text",
        "author": {
            "@type": "h-card",
            "name": "Me",
            "photo": {"value": "http://a.test/b/i.png", "alt": "Me"},
        },
    }
    assert (feed.type, feed.value) == ("h-feed", {"@type": "h-feed"})
    assert (older.type, older.name) == ("h-entry", "Older")
    assert older.value["url"] == "http://a.test/p"
    assert older.value["category"] == "x"
    assert older.value["author"] == {"@type": "h-card", "name": "Bob"}
    assert older.value["updated"] == "2026-03-04"


def test_a_page_without_microformats_starts_no_program(monkeypatch):
    monkeypatch.setattr(microformats, "PROGRAM", "no.such.module")

    with MicroformatsReader() as one:
        assert one.items(turbohtml.parse(PLAIN), "http://a.test/") == []


def test_a_page_that_takes_too_long_is_a_problem_and_the_next_one_is_read(items):
    began = time.monotonic()

    (told,) = items(DOUBLED)

    assert time.monotonic() - began < microformats.LIMITS.seconds + 2
    assert told.problem == "Items were not read: they took too much time or memory."
    assert [item.name for item in items(ENTRY)] == ["First"]


def test_what_is_nested_too_deeply_or_too_long_is_a_problem(items):
    (deep,) = items("<div class=h-entry>" * 900)
    long, short = items(f"<p class=h-a>{'x' * MOST_MARKUP}</p><p class=h-b>y</p>")

    assert deep.problem == "Items were not read: they are nested too deeply."
    assert long.problem == "1 items were not read: they are too long."
    assert (short.type, short.name) == ("h-b", "y")


def test_a_run_has_them_as_rows_and_in_each_file(make_site, crawl_to_the_end):
    feed = "<rss><item><title>Post</title><link>/1</link></item></rss>"
    announced = '<link rel=alternate type="application/rss+xml" href=/feed>'
    site = make_site(
        {
            "/": f"<title>T</title>{announced}{ENTRY}<a href=/feed>f</a>",
            "/feed": (200, {"Content-Type": "text/xml"}, feed),
        }
    )
    run = crawl_to_the_end(f"{site.url}/")
    catch_up(run.pk)
    read_to_the_end(run)
    path, viewer = f"/crawls/{run.crawl_id}/structured-data", browser("viewer")

    (row,) = viewer.get(f"/api/v1{path}?kind=microformats").json()["items"]
    assert (row["type"], row["name"]) == ("h-entry", "First")
    assert json.loads(row["value"])["url"] == f"{site.url}/b/a"
    facts = viewer.get(f"/api/v1{path}?kind=metadata").json()["items"]
    assert {row["name"]: row["value"] for row in facts}["author"] == "Me"
    (post,) = viewer.get(f"/api/v1{path}?kind=entry").json()["items"]
    assert (post["page"], post["type"], post["name"]) == (f"{site.url}/feed", "rss", "Post")
    assert json.loads(post["value"]) == {"url": f"{site.url}/1"}
    shown = viewer.get(f"{path}/?kind=microformats").content.decode()
    assert "Microformats" in shown
    assert "h-entry" in shown
    files = {
        ending: b"".join(viewer.get(f"{path}.{ending}?kind=microformats").streaming_content)
        for ending in ("csv", "jsonl", "parquet")
    }
    assert b"h-entry" in files["csv"]
    assert json.loads(files["jsonl"])["name"] == "First"
    assert files["parquet"][:4] == b"PAR1"


#: with the beginnings of texts that their inner parts meet
OF_THE_LIBRARY = {
    "classes": (mf2_classes._mf2_classes_re, ["p-", "h-a", "dt-a-", "e-:a-"]),
    "roots": (mf2_classes._mf2_roots_re, ["h-", "h-a-", "h-:a-"]),
    "properties": (mf2_classes._mf2_properties_re, ["u-", "u-a-"]),
    "white space": (dom_helpers._whitespace_to_space_regex, ["\n"]),
    "blanks": (dom_helpers._reduce_spaces_regex, ["  "]),
    "dates": (re.compile(datetime_helpers.DATETIME_RE + "$"), ["2026-01-02T", "2026-001 1:11:11."]),
    "times": (re.compile(datetime_helpers.TIME_RE + "$"), ["1", "11:11:11.", "11 am", "11Z"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_THE_LIBRARY)
def test_no_repetition_holds_an_expression_of_the_library_up(name):
    expression, prefixes = OF_THE_LIBRARY[name]
    ways = [expression.match, expression.search]

    assert in_a_process(lambda: slowest(ways, ["", *prefixes])) == ""


def shapes(size):
    """Pages of so many bytes, of the worst kinds."""

    def full(unit):
        return unit * (size // len(unit))

    return {
        "nested": full("<div class=h-entry>"),
        "older and nested": full("<div class=vcard>"),
        "side by side": full("<b class=h-a></b>"),
        "classes": f'<div class="{full("h-a ")}">x',
        "properties": f'<div class=h-a><div class="h-b {full("p-a ")}">x',
        "values": f"<div class=h-event><p class=dt-start>{full('<b class=value>1:11</b>')}",
        "heights": full("<b class=h-full></b>"),
        "words that begin so": full("<b class=search-x></b>"),
    }


@pytest.mark.parametrize("name", shapes(0))
def test_roots_are_found_in_a_time_in_proportion_to_the_page(name):
    times = []
    for size in (2**18, 2**20):
        document = turbohtml.parse(shapes(size)[name])
        began = time.process_time()
        assert len(root_markup(document).html) <= MOST_MARKUP
        times.append(time.process_time() - began)

    assert times[1] < 16 * max(times[0], 0.01)


@pytest.mark.drill
@pytest.mark.parametrize("megabytes", [1, 4, 16])
@pytest.mark.parametrize("name", shapes(0))
def test_a_large_page_costs_at_most_its_limits(items, name, megabytes):
    document = shapes(megabytes * 2**20)[name]
    began = time.monotonic()

    items(document)

    assert time.monotonic() - began < 3 * microformats.LIMITS.seconds
    assert [item.name for item in items(ENTRY)] == ["First"]


#: these fit into what is sent, so that the program itself meets them
WITHIN = {
    "many texts": "<p class=h-a><b class=p-name>" + "x<br>" * 50_000,
    "many values": "<p class=h-a><b class=p-name>" + "<i class=value>1</i>" * 12_000,
    "a thousand properties": f'<p class="h-a {" ".join(f"p-a{n}a" for n in range(9_000))}">x',
    "older ones in each other": "<div class=vcard><i class=fn>" * 400,
    "a long base": f"<p class=h-a><base href='http://x/{'y' * 99_000}/'>"
    + "<a class=u-b href=c></a>" * 5_000,
}


@pytest.mark.drill
@pytest.mark.parametrize("name", WITHIN)
def test_what_the_program_meets_costs_at_most_its_limits(items, name):
    began = time.monotonic()

    items(WITHIN[name])

    assert time.monotonic() - began < 2 * microformats.LIMITS.seconds
    assert [item.name for item in items(ENTRY)] == ["First"]
