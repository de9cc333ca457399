"""What is collected of links, whatever the document."""

from __future__ import annotations

import time

import turbohtml
from hypothesis import given
from hypothesis import strategies as st

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource
from crawling.web.documents.html import read
from crawling.web.documents.written_links import MARK, WrittenLink, collect, links_in

URL = "http://example.org/directory/page"


def links_of(html: bytes) -> list[WrittenLink]:
    document = read(DocumentSource(DocumentStream.of(html), URL, "text/html", "utf-8"))
    return list(links_in(document.written, URL, base=document.base, charset=document.charset))


def test_links_start_from_the_stated_base_and_in_the_charset_of_the_page():
    html = b'<meta charset=latin1><base href="/other/"><a href="x?q=\xe9#f">y</a><a href=#g>z</a>'
    document = read(DocumentSource(DocumentStream.of(html), URL, "text/html", None))
    first, second = links_in(document.written, URL, base=document.base, charset=document.charset)

    assert (first.target, first.fragment) == ("http://example.org/other/x?q=%E9", "f")
    assert (second.target, second.fragment) == ("http://example.org/other/", "g")


@given(st.lists(st.text(max_size=20), max_size=5), st.text(max_size=20))
def test_no_text_of_a_document_moves_the_fields(texts, rel):
    html = "".join(
        f'<a href="/{number}" rel="{rel}">{text}</a>' for number, text in enumerate(texts)
    )
    found = links_of(html.encode(errors="replace"))

    assert all(link.target.startswith("http://example.org/") for link in found)
    assert all(link.element == "a" and link.attribute == "href" for link in found)
    assert all(MARK not in "".join(link) for link in found)


def test_links_within_each_other_cost_no_more_than_they_may():
    html = b"<object><a href=%d>" * 20_000
    document = turbohtml.parse(html % tuple(range(20_000)), positions=False)
    links = list(document.links())
    began = time.thread_time()
    collect(document, links)

    assert time.thread_time() - began < 2
