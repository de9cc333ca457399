"""Links in the HTML of feeds' entries, as feed readers follow them: RFC 4287, sections 3.1 and
4.1.3; RSS 2.0, elements of item; JSON Feed 1.1, content_html.
"""

from __future__ import annotations

import time

import pytest

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import Document, DocumentSource, ReadingRules, TruncationReason
from crawling.web.documents.registry import read_document
from crawling.web.links import MOST_LINKS

ATOM = '<feed xmlns="http://www.w3.org/2005/Atom"><entry>{}</entry></feed>'
RSS = '<rss xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>{}</channel></rss>'
XHTML = '<content type="xhtml"{}><div xmlns="http://www.w3.org/1999/xhtml">{}</div></content>'


def read(text: str, kind: str = "text/xml", **rules: bool) -> Document:
    body = DocumentStream.of(text.encode())
    return read_document(
        DocumentSource(body, "https://a.test/b/feed", kind, None, ReadingRules(**rules))
    )


def links(text: str, kind: str = "text/xml", **rules: bool) -> list[str]:
    return [link.url.removeprefix("https://a.test") for link in read(text, kind, **rules).links]


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        ('<content type="html">&lt;a href="x?a=1&amp;amp;b=2"&gt;</content>', ["/b/x?a=1&b=2"]),
        ("<content type='html'><![CDATA[<A HREF='/x'><area href=y>]]></content>", ["/x", "/b/y"]),
        ('<summary type="text/html">&lt;a href=" /x#part "&gt;</summary>', ["/x"]),
        ('<title type="html">&lt;a href="/x"&gt;</title>', ["/x"]),
        ("<content>&lt;a href=/x&gt;</content>", []),
        ('<content type="text">&lt;a href=/x&gt;</content>', []),
        ('<content type="text/plain">&lt;a href=/x&gt;</content>', []),
        ('<content type="html" xml:base="/c/">&lt;a href="x"&gt;</content>', ["/c/x"]),
        ('<content type="text/html" src="/x"/>', ["/x"]),
        (XHTML.format("", '<p><a href="x"/></p>'), ["/b/x"]),
        (XHTML.format(' xml:base="/c/"', '<p xml:base="d/"><a href="x"/></p>'), ["/c/d/x"]),
        (XHTML.format(' xml:base="/c/"', "<p>" * 50 + '<a href="x"/>' + "</p>" * 50), ["/c/x"]),
    ],
)
def test_links_in_the_contents_of_atom_are_taken(entry, found):
    assert links(ATOM.format(entry)) == found


@pytest.mark.parametrize(
    ("channel", "found"),
    [
        ("<item><description>&lt;a href=x&gt;</description></item>", ["/b/x"]),
        ("<item><description><p><a href='/x'>raw</a> & <br></p></description></item>", ["/x"]),
        ("<item><content:encoded><![CDATA[<a href=x>]]></content:encoded></item>", ["/b/x"]),
        ("<item><description>&lt;!-- &lt;a href=x&gt; --&gt;</description></item>", []),
        ("<item><description>&lt;script&gt;'&lt;a href=x&gt;'</description></item>", []),
        ("<item><description>&lt;a&gt;&lt;a href=''&gt;</description></item>", []),
        ("<item><description type='plain'>&lt;a href=x&gt;</description></item>", []),
        ("<description>&lt;a href=x&gt;</description>", []),
    ],
)
def test_links_in_the_descriptions_of_rss_are_taken(channel, found):
    assert links(RSS.format(channel)) == found


def test_links_in_the_html_of_json_feeds_are_taken():
    feed = (
        '{"items": [{"url": "/1", "content_html": "<p><a href=x>", "content_text": "<a href=y>"}]}'
    )

    assert links(feed, "application/feed+json") == ["/1", "/b/x"]


@pytest.mark.parametrize(
    ("feed", "kind"),
    [
        (RSS.format("<item><description>&lt;a rel='x NOFOLLOW' href=x&gt;"), "text/xml"),
        (ATOM.format(XHTML.format("", '<a href="x" rel="ugc"/>')), "text/xml"),
        ('{"items": [{"content_html": "<a rel=nofollow href=x>"}]}', "application/feed+json"),
    ],
)
def test_links_that_an_entry_does_not_vouch_for_are_left_alone_if_so_ordered(feed, kind):
    assert links(feed, kind) == ["/b/x"]
    assert links(feed, kind, obey_nofollow=True) == []


def test_a_link_that_is_no_address_is_told():
    found = read(ATOM.format('<content type="html">&lt;a href="http://[x"&gt;</content>'))

    assert found.notes.bad == {"“http://[x” is no URL": 1}


def test_no_more_links_of_an_entry_are_taken_than_of_a_page():
    anchors = "".join(f"&lt;a href={number}&gt;" for number in range(MOST_LINKS + 1000))

    found = read(RSS.format(f"<item><description>{anchors}</description></item>"))

    assert (len(found.links), found.unread) == (MOST_LINKS, TruncationReason.LINKS)


@pytest.mark.parametrize(
    "feed",
    [
        RSS.format("<item><description>" + "&lt;a href=x&gt;" * 100_000),
        RSS.format("<item>" + "<description>" * 50_000 + "&lt;a href=x&gt;" * 30_000),
        ATOM.format('<content type="html">' + "&lt;" * 400_000),
        ATOM.format('<div xml:base="a/">' * 40_000 + '<a href="x"/>' * 40_000),
    ],
)
def test_no_feed_costs_much_time(feed):
    began = time.process_time()

    read(feed)

    assert time.process_time() - began < 5
