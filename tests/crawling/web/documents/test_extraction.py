"""What an operator wants out of a page, by CSS selector."""

import pytest

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource, ReadingRules
from crawling.web.documents.css_selectors import BadSelector, read_selector
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
