"""Every kind of document leads where it says."""

import gzip
import zlib
from datetime import UTC, datetime

import pytest

from crawling.web.document_stream import PIECE_BYTES, DocumentStream
from crawling.web.documents import archive, feed
from crawling.web.documents.base import DocumentSource
from crawling.web.documents.registry import CONTENT_TYPES, read_document, reader_of

URL = "http://a.test/d/e"
ATOM = b"""<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xml:base="/f/">
<title>News</title><author><name>Me</name></author>
<link rel="self" href="/feed"/><link rel="hub" href="/hub"/><link rel="next" href="?page=2"/>
<entry><title>One</title><link href="1"/><link rel="enclosure" href="/1.mp3"/></entry></feed>"""
RSS = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>http://a.test/</link>
<description>All of it</description>
<item><title>One</title><link> http://a.test/1?a=1&amp;b=2 </link><guid>http://a.test/g</guid>
<enclosure url="/1.mp3"/></item>
<item><link><![CDATA[/2]]></link><guid isPermaLink="false">http://a.test/not</guid></item></channel></rss>"""
SITEMAP = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
 xmlns:x="http://www.w3.org/1999/xhtml"
 xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"><url><loc>http://a.test/1?a=1&amp;b=2</loc>
<x:link rel="alternate" hreflang="de" href="http://a.test/de/1"/>
<image:image><image:loc>http://a.test/i.png</image:loc></image:image></url></urlset>"""
INDEX = (
    b"<sitemapindex "
    b'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>http://a.test/s1.xml.gz</'
    b"loc></sitemap></sitemapindex>"
)


def links(body, content_type, url=URL):
    return [
        address.url.removeprefix("http://a.test")
        for address in read_document(
            DocumentSource(DocumentStream.of(body), url, content_type)
        ).links
    ]


@pytest.mark.parametrize("content_type", ["application/atom+xml", "text/xml"])
def test_atom_feeds_lead_to_their_entries_and_neighbours(content_type):
    document = read_document(DocumentSource(DocumentStream.of(ATOM), URL, content_type))

    assert links(ATOM, content_type) == ["/feed", "/f/?page=2", "/f/1", "/1.mp3"]
    assert (document.title, document.metadata.author) == ("News", "Me")


BASES = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:base="/f/">
<title type="html">A&amp;amp;B</title>
<link rel="prev-archive" href="p"/><link rel="edit" href="no"/>
<link rel="http://www.iana.org/assignments/relation/next-archive" href="n"/>
<entry xml:base="2026/"><link href="1"/></entry><entry><link xml:base="/g/" href="2"/></entry>
<entry xml:base="http://b.test/x/"><link href="3"/></entry></feed>"""


def test_each_element_of_a_feed_may_have_its_base_and_archives_are_followed():
    source = DocumentSource(DocumentStream.of(BASES), URL, "text/xml")
    pages = ["/f/2026/1", "/g/2", "http://b.test/x/3"]

    assert links(BASES, "text/xml") == ["/f/p", "/f/n", *pages]
    assert read_document(source).title == "A&B"
    assert [url.removeprefix("http://a.test") for url in feed.entry_urls(source)] == pages


def test_titles_of_rss_are_texts_in_which_references_are_written_twice():
    body = "<rss><channel><title>A &amp;amp; B \u4e2d</title></channel></rss>".encode("gbk")
    source = DocumentSource(DocumentStream.of(body), URL, "text/xml", "gb2312")

    assert read_document(source).title == "A & B \u4e2d"


@pytest.mark.parametrize("content_type", ["application/rss+xml", "application/xml"])
def test_rss_feeds_lead_to_their_items(content_type):
    document = read_document(DocumentSource(DocumentStream.of(RSS), URL, content_type))

    assert links(RSS, content_type) == ["/", "/1?a=1&b=2", "/g", "/1.mp3", "/2"]
    assert (document.title, document.metadata.description) == ("News", "All of it")


def test_a_broken_feed_is_read_as_far_as_it_goes():
    assert "/f/1" in links(ATOM[: ATOM.index(b"</entry>")], "application/atom+xml")


def test_sitemaps_lead_to_pages_in_every_language_and_not_to_pictures():
    assert links(SITEMAP, "text/xml") == ["/1?a=1&b=2", "/de/1"]
    assert links(INDEX, "application/xml") == ["/s1.xml.gz"]


def test_sitemaps_state_when_pages_of_their_own_site_were_changed():
    entries = {
        "/day": "2026-03-01",
        "/moment": " 2026-03-01T12:00:00.5+02:00 ",
        "/year": "2026",
        "/nonsense": "yesterday",
        "/far": "0001-01-01T00:00:00+23:59",
        "/long": "2026-03-01" + " x" * 30,
        "http://b.test/": "2026-03-01",
        "/none#part": "2026-03-02",
    }
    body = "<urlset>" + "".join(
        f"<url><lastmod>{moment}</lastmod><loc>{place}</loc></url><url><loc>/none</loc></url>"
        for place, moment in entries.items()
    )
    source = DocumentSource(DocumentStream.of(f"{body}</urlset>".encode()), URL, "text/xml")

    assert read_document(source).modified == {
        "http://a.test/day": datetime(2026, 3, 1, tzinfo=UTC),
        "http://a.test/moment": datetime(2026, 3, 1, 10, 0, 0, 500_000, tzinfo=UTC),
        "http://a.test/none": datetime(2026, 3, 2, tzinfo=UTC),
    }


@pytest.mark.parametrize("content_type", ["application/gzip", "application/x-gzip"])
def test_packed_sitemaps_are_unpacked(content_type):
    assert links(gzip.compress(SITEMAP), content_type) == ["/1?a=1&b=2", "/de/1"]
    assert links(
        gzip.compress(b"http://a.test/x\n"), content_type, url="http://a.test/urls.txt.gz"
    ) == ["/x"]


def test_a_bomb_is_unpacked_no_further_than_a_sitemap_may_be_long():
    def parts(packed, most):
        return list(archive.UnpackedDocument([packed], most))

    assert len(b"".join(parts(gzip.compress(b"x" * 10_000_000), 1000))) == 1000
    assert parts(b"\x1f\x8b\x08nonsense", 9) == []
    assert parts(zlib.compress(b"x"), 9) == []


def test_entities_of_xml_are_never_expanded():
    bomb = (
        b'<!DOCTYPE x [<!ENTITY a "http://a.test/boom"><!ENTITY b SYSTEM '
        b'"file:///etc/passwd">]><rss><link>&a;</link><link>&b;</link></rss>'
    )

    assert not any("boom" in link or "root" in link for link in links(bomb, "application/rss+xml"))


@pytest.mark.parametrize(
    ("sheet", "expected"),
    [
        ("@import 'a.css'; @import url(\"b.css\") screen;", ["/d/a.css", "/d/b.css"]),
        ("p { background: url( /x.png ) } q { background: URL('/y.png') }", ["/x.png", "/y.png"]),
        ("/* url(/no.png) */ p { background: url(/a\\62 .png) }", ["/ab.png"]),
        ("p { background: url(data:image/png;base64,AAAA) }", []),
        ("p { background: url(", []),
        ("/* never closed url(/x)", []),
    ],
)
def test_style_sheets_lead_to_what_they_use(sheet, expected):
    assert links(sheet.encode(), "text/css") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See http://a.test/x, or (http://a.test/y).", ["/x", "/y"]),
        ("http://a.test/x_(y) and <http://a.test/z>", ["/x_(y)", "/z"]),
        ("HTTP://A.TEST/x\nhttp://a.test/x#part", ["/x"]),
        ("xhttp://a.test/no ftp://a.test/no http:// a.test", []),
    ],
)
def test_text_leads_to_the_addresses_in_it(text, expected):
    assert links(text.encode(), "text/plain") == expected


@pytest.mark.parametrize(
    "content_type",
    [
        "image/png",
        "audio/mpeg",
        "video/mp4",
        "application/ogg",
        "application/octet-stream",
        "",
        "image/x-any",
    ],
)
def test_other_documents_lead_nowhere(content_type):
    assert links(b"<a href=/x>x</a> http://a.test/y", content_type) == []


def test_each_type_has_one_module():
    types = [content_type for part in CONTENT_TYPES.parts.values() for content_type in part.types]

    assert len(types) == len(set(types))
    assert reader_of("image/anything") is reader_of("video/anything")
    assert reader_of("application/unheard-of") is None


def test_an_address_that_lies_across_two_pieces_of_a_text_is_read_whole():
    for before in range(PIECE_BYTES - 60, PIECE_BYTES + 2):
        body = b" " * before + b"xhttp://a.test/no http://a.test/one,two. http://a.test/three"

        assert links(body, "text/plain") == ["/one,two", "/three"], before
