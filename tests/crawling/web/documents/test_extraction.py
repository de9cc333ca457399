"""The parts that an operator wants out of a page, by CSS selector."""

import pytest
import turbohtml

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource, ReadingRules
from crawling.web.documents.css_selectors import (
    BadSelector,
    SelectorTookTooLong,
    read_selector,
    select_elements,
)
from crawling.web.documents.registry import read_document

HTML = """<?xml version="1.0"?><html><body><h1>The  <b>Title</b></h1>
<ul><li class=p data-id=1>One <i>1</i></li><li class=p data-id=2>Two</li><li>Three</li></ul>
<a rel="next me" href="/x">x</a></body></html>"""


def extracted(html=HTML, **rules):
    return read_document(
        DocumentSource(
            DocumentStream.of(html.encode()),
            "http://a.test/",
            "text/html",
            "utf-8",
            ReadingRules(extract=rules),
        )
    ).extracted


def test_every_match_gives_its_text_as_one_line():
    assert extracted(title="h1", price="li.p") == [
        ("title", "The Title"),
        ("price", "One 1"),
        ("price", "Two"),
    ]


def test_a_rule_may_name_an_attribute_instead():
    assert extracted(id="li::attr(data-id)", link="a[href]::attr(rel)") == [
        ("id", "1"),
        ("id", "2"),
        ("link", "next me"),
    ]


def test_rules_that_match_nothing_give_nothing():
    assert extracted(x="h2", y="li:nth-of-type(3) > b") == []
    assert extracted("no markup", x="p") == []


def test_a_page_gives_a_bounded_number_of_bounded_values():
    found = extracted("<p>" + "x" * 20_000 + "</p>" + "<p>y</p>" * 3000, x="p", y="p")

    assert len(found) == 1000
    assert len(found[0][1]) == 10_000


@pytest.mark.parametrize(
    "rule", ["li[", "::attr(x", "li::attr()", "li::before", "", ":nosuch(x)", "a >", "(" * 500]
)
def test_what_is_no_selector_is_told(rule):
    with pytest.raises(BadSelector, match="is no CSS selector"):
        read_selector(rule)


@pytest.fixture(scope="module")
def deep():
    """Small, and with many elements that all are within many others."""
    return "<div class=a>" * 400 + "<p class=b>x</p>" * 3000


@pytest.mark.parametrize(
    "selector",
    [
        ":has(div:not(.a) p)",
        ":is(.q div) p",
        "div:has(div:has(div:has(.q)))",
        "p:NOT(.a:IS(.q > div) p)",
        ":has( .q , div .q )",
    ],
)
def test_a_selector_that_takes_minutes_on_a_deep_page_is_not_tried(deep, selector):
    with pytest.raises(SelectorTookTooLong, match="without :has"):
        select_elements(turbohtml.parse(deep), selector)
    assert extracted(deep, x=selector, y="p:nth-child(2)") == [("y", "x")]


@pytest.mark.parametrize(
    "selector",
    ["div:has(.b)", "div > div p", ".a:not( .q, .r ) .b", r"p:not([title=':is(a b)']) ~ p, \:has"],
)
def test_selectors_that_take_moments_are_tried_on_a_deep_page(deep, selector):
    assert len(select_elements(turbohtml.parse(deep), selector)) >= 400


LINKED = """<base href="http://b.test/shop/"><a class=local href="../a?x=1#top">a</a>
<a class=mail href="mailto:me@a.test">m</a><a class=odd href="http://[">o</a>
<img src="/i.png" data-src="i.png">"""


def test_an_attribute_with_an_address_gives_it_in_full_and_others_as_they_are_written():
    found = extracted(
        LINKED,
        local=".local::attr(href)",
        image="img::attr(src)",
        mail=".mail::attr(href)",
        odd=".odd::attr(href)",
        data="img::attr(data-src)",
    )

    assert dict(found) == {
        "local": "http://b.test/a?x=1#top",
        "image": "http://b.test/i.png",
        "mail": "mailto:me@a.test",
        "odd": "http://[",
        "data": "i.png",
    }
