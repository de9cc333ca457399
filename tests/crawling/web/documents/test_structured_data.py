"""The data of a page for programs, as rows, within limits of time and memory."""

from __future__ import annotations

import json
import resource
import time

import pytest
import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from crawling.web.documents.html_text import text_of
from crawling.web.documents.structured_data import (
    MOST_CHARACTERS,
    MOST_METAS,
    MOST_PROBLEMS,
    MOST_ROWS,
    MOST_VALUE,
    StructuredDataReader,
)
from crawling.web.documents.structured_items import MOST_LEVELS
from crawling.web.structured_rows import DataKind

LD = '<script type="application/ld+json">{}</script>'
PAGE = """<html lang=en><base href="/b/"><title> A  page </title><meta name=author content="Ann B">
<meta property="article:published_time" content="2024-05-06T07:08:09+02:00">
<meta property="og:title" content="=Shared"><meta name="DC.title" content="Core">
<link rel=alternate type="application/rss+xml" title=News href=/feed>
<a href="mailto:A@example.org?subject=x">m</a> <a href="TEL:+49 30 901820">t</a>
b@example.org a@example.org +1 212 555 0199
<div itemscope itemtype="https://schema.org/Product"><span itemprop=name>Lamp</span>
<div itemprop=offers itemscope itemtype=Offer><meta itemprop=price content=5></div></div>
<div vocab="https://schema.org/" typeof="Person"><span property=name>Eve</span></div>
<img src=i.png alt="A lamp" width=640 height="480px"><img src=i.png><img src=x.png alt="">
<img src="data:image/png;base64,AAAA" width=-1 height=99999999>
<table><caption>Prices</caption><thead><tr><th>1<th>2<tbody><tr><td><table><tr><td>z</table>
</table>"""


def rows_of(html, *, language=""):
    reader = StructuredDataReader("http://a.test/dir/page")
    document = turbohtml.parse(html)
    reader.read(document)
    reader.read_text(text_of(document), language)
    return reader.rows


def told(rows, kind):
    return [row for row in rows if row.kind == kind]


def values(rows, kind):
    return {row.name or row.type: row.value for row in told(rows, kind)}


def problems(rows):
    return [(row.type, row.value) for row in told(rows, DataKind.PROBLEM)]


def test_facts_about_the_page_stand_by_their_names():
    rows = rows_of(PAGE, language="en")

    assert values(rows, DataKind.METADATA) == {
        "title": "A page",
        "author": "Ann B",
        "published": "2024-05-06T07:08:09+02:00",
        "text length": str(len("m t b@example.org a@example.org +1 212 555 0199 Lamp Eve 1 2 z"
                               " Prices")),
        "detected language": "en",
    }  # fmt: skip
    assert values(rows, DataKind.DUBLIN_CORE) == {"dc.title": "Core"}
    assert values(rows, DataKind.OPEN_GRAPH)["og:title"] == "=Shared"
    assert values(rows, DataKind.FEED) == {"News": "http://a.test/feed"}


def test_items_are_json_with_their_types_and_names():
    (product,) = told(rows_of(PAGE), DataKind.MICRODATA)
    assert (product.type, product.name) == ("https://schema.org/Product", "Lamp")
    assert json.loads(product.value)["offers"] == {"@type": "Offer", "price": "5"}
    (person,) = told(rows_of(PAGE), DataKind.RDFA)
    assert (person.type, person.name) == ("https://schema.org/Person", "Eve")


def test_each_item_of_a_graph_is_one_and_says_what_the_page_does_not():
    graph = """{"@context": "https://schema.org", "@graph": [{"@type": ["Article", "Report"],
"headline": "H", "author": [{"name": "Eve"}, "Bob"], "datePublished": "2020-01-02"},
{"@type": "Person", "name": "Eve"}]}"""
    rows = rows_of(LD.format(graph))

    assert [(row.type, row.name) for row in told(rows, DataKind.JSON_LD)] == [
        ("Article Report", "H"),
        ("Person", "Eve"),
    ]
    facts = values(rows, DataKind.METADATA)
    assert (facts["author"], facts["published"]) == ("Eve, Bob", "2020-01-02")
    assert problems(rows) == []


def test_contacts_are_told_once_and_links_first():
    rows = rows_of(PAGE)

    assert [(row.type, row.value) for row in told(rows, DataKind.EMAIL)] == [
        ("link", "a@example.org"),
        ("text", "b@example.org"),
    ]
    assert [(row.type, row.name, row.value) for row in told(rows, DataKind.PHONE)] == [
        ("link", "+49 30 901820", "+4930901820"),
        ("text", "+1 212 555 0199", "+12125550199"),
    ]


def test_images_and_tables_have_their_texts_and_sizes():
    rows = rows_of(PAGE)

    assert [row[1:] for row in told(rows, DataKind.IMAGE)] == [
        ("described", "A lamp", "http://a.test/b/i.png", 640, 480, False),
        ("no text", "", "http://a.test/b/i.png", 0, 0, False),
        ("decorative", "", "http://a.test/b/x.png", 0, 0, False),
        ("no text", "", "data:image/png;base64", 0, 0, False),
    ]
    assert [(row.name, row.width, row.height) for row in told(rows, DataKind.TABLE)] == [
        ("Prices", 2, 2),
        ("", 1, 1),
    ]


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("{oops", "A block is no JSON: "),
        ('{"a": NaN}', "A block is no JSON: NaN is no value of JSON"),
        ("9" * 5000, "A block is no JSON: "),
        ("7", "A block has a value that is no object."),
        ("[" * 100_000, "A block was not read: it is nested too deeply."),
        ("[" * 1_000_000, "A block of 1,000,000 characters was not read: too long."),
    ],
)
def test_broken_json_is_a_problem_of_the_page(block, problem):
    ((kind, said),) = problems(rows_of(LD.format(block)))

    assert kind == DataKind.JSON_LD
    assert said.startswith(problem)


@pytest.mark.parametrize(
    "block",
    [
        "<!--\n{}\n-->",
        "<!--\n{}\n//-->",
        '<!-- of a plug-in\'s "maker" -->{}<!-- its end -->',
        "//<![CDATA[\n{}\n//]]>",
        "//<![CDATA[ {} //]]>",
        "/*<![CDATA[*/{}/*]]>*/",
        "/* <![CDATA[ */ {} /* ]]> */",
        "<!--//--><![CDATA[//><!--\n{}\n//--><!]]>",
        "<![CDATA[{}]]>",
        '/* one "quote */ {} // at the end',
        "/* a *//* b **/{}//",
        "\ufeff\xa0{}\x0b\u2028",
        "{};",
    ],
)
@pytest.mark.parametrize(
    "item",
    [
        '{"@type": "T", "name": "http://x/ /* no */ <!-- no --> ,}"}',
        '{"@type": "T", // a comment\n "name": /* , */ "http://x/ /* no */ <!-- no --> ,}",}',
    ],
)
def test_json_in_comments_and_wrappers_is_read(block, item):
    rows = rows_of(LD.format(block.replace("{}", item)))

    (row,) = told(rows, DataKind.JSON_LD)
    assert (row.type, row.name) == ("T", "http://x/ /* no */ <!-- no --> ,}")
    assert problems(rows) == []


def test_control_characters_in_texts_of_json_are_read():
    rows = rows_of(LD.format('{"@type": "T", "name": "a\n\tb\x01c \\"// d"}'))

    (row,) = told(rows, DataKind.JSON_LD)
    assert json.loads(row.value)["name"] == 'a\n\tb\x01c "// d'


def test_blocks_that_cannot_be_read_are_counted():
    rows = rows_of(LD.format("{oops") * (MOST_PROBLEMS + 3) + LD.format('{"@type": "T"}'))

    assert [row.type for row in told(rows, DataKind.JSON_LD)] == ["T"]
    assert problems(rows)[-1] == ("json-ld", "3 more problems are not told.")
    assert len(problems(rows)) == MOST_PROBLEMS + 1


def test_long_values_are_cut_and_more_rows_than_are_kept_are_told():
    rows = rows_of(LD.format(json.dumps({"@type": "T", "text": "ü" * MOST_VALUE})))
    (item,) = told(rows, DataKind.JSON_LD)
    assert item.is_cut
    assert len(item.value) == MOST_VALUE

    rows = rows_of("".join(f"<img src={number}>" for number in range(MOST_ROWS + 1)))
    assert len(told(rows, DataKind.IMAGE)) == MOST_ROWS
    assert problems(rows) == [("image", f"Only the first {MOST_ROWS} are kept.")]


def test_items_within_items_are_read_to_a_depth():
    item = "<div itemscope itemprop=a>"
    shallow, deep = (rows_of("<div itemscope>" + item * levels) for levels in (MOST_LEVELS - 1, 40))

    assert len(told(shallow, DataKind.MICRODATA)) == 1
    assert told(deep, DataKind.MICRODATA) == []
    assert problems(deep) == [("microdata", "Items were not read: they are nested too deeply.")]


def test_only_the_first_metadata_elements_are_looked_at():
    author, other = "<meta name=author content=Ann>", "<meta name=x content=y>"

    assert "author" in values(rows_of(other * (MOST_METAS - 1) + author), DataKind.METADATA)
    assert "author" not in values(rows_of(other * MOST_METAS + author), DataKind.METADATA)


def test_half_a_character_and_nul_in_json_can_be_kept():
    rows = rows_of(LD.format(r'{"@type": "\ud800", "name": "a\u0000b"}'))

    (item,) = told(rows, DataKind.JSON_LD)
    assert (item.type, item.name) == ("?", "ab")
    assert json.loads(item.value) == {"@type": "?", "name": "a\0b"}


NESTED = "<div itemscope>" + "<div itemprop=b>text text" * 40_000
#: each item refers to two that refer to two
CHAIN = "<div itemscope itemref='i0 j0'></div>" + "".join(
    f"<div id={one}{number} itemscope itemprop=x itemref='i{number + 1} j{number + 1}'></div>"
    for number in range(40)
    for one in "ij"
)
LONG = "y" * 300_000
LONG_PREFIX = f'<div prefix="p: http://x/{LONG}" typeof=a>' + "".join(
    f"<p property=p:{number}>b" for number in range(900)
)
LONG_BASE = f'<base href="http://x/{LONG}/"><div itemscope>' + "<img itemprop=x src=b>" * 900
HOSTILE = {
    "a megabyte of items": LD.format("[" + ",".join(['{"a":1}'] * 31_000) + "]") * 8,
    "4 MB of nested JSON": LD.format('{"a":[' * 700_000),
    "deep JSON": LD.format('{"a":' * 900 + "1" + "}" * 900),
    "5,000 levels": "<div itemscope>" + "<div itemscope itemprop=a>" * 5_000,
    "400 levels": "<div itemscope>" + "<div itemscope itemprop=a>" * 400,
    "RDFa of 5,000 levels": "<div typeof=A property=b>" * 5_000,
    "properties within properties": NESTED,
    "many names for a text": f'<div itemscope><p itemprop="{"a " * 400_000}">{"x" * 100_000}',
    "references to references": CHAIN,
    "a long prefix": LONG_PREFIX,
    "a long base": LONG_BASE,
    "100,000 images": "".join(f"<img src={number}>" for number in range(100_000)),
    "tables within tables": "<table><caption>x<table><tr><td>x" * 20_000,
    "100,000 properties": "".join(f'<meta property="og:{n}" content=b>' for n in range(100_000)),
}


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_page_takes_little_time_and_memory(html):
    document = turbohtml.parse(html)
    reader = StructuredDataReader("http://a.test/")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()

    reader.read(document)

    assert time.process_time() - began < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024
    assert sum(len(row.type + row.name + row.value) for row in reader.rows) < 2 * MOST_CHARACTERS


PIECES = (
    *("<div itemscope>", " itemprop=a", "<meta name=og:x content=", "mailto:", "<img src="),
    *("<table>", "<tr>", LD, "\ud7ff", "@graph", "[[[", *"<>=\"'/ \0"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_whatever_a_page_has_its_rows_can_be_kept(html):
    for row in rows_of(html):
        assert row.kind in list(DataKind)
        for text in (row.type, row.name, row.value):
            assert "\0" not in text
            assert text.encode().decode() == text
