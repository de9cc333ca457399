"""Sitemaps of any form and with any mistake: all entries but those with the mistake count."""

import gzip

import pytest

from crawling.web.content.media_types import START_BYTES, document_type
from crawling.web.document_stream import DocumentStream
from crawling.web.documents import sitemap
from crawling.web.documents.base import DocumentSource, TruncationReason
from crawling.web.documents.registry import read_document
from crawling.web.robots import resolve_sitemaps

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
ENTRY = "<url><loc>http://a.test/{}</loc></url>"
IMAGE = "http://www.google.com/schemas/sitemap-image/1.1"


def read(body, field="text/xml"):
    body = body.encode() if isinstance(body, str) else body
    kind = document_type(field, body[:START_BYTES])
    return read_document(DocumentSource(DocumentStream.of(body), "http://a.test/d/map", kind))


def paths(document):
    return [link.url.removeprefix("http://a.test") for link in document.links]


def urlset(*entries, encoding="UTF-8"):
    head = f'<?xml version="1.0" encoding="{encoding}"?><urlset xmlns="{NAMESPACE}">'
    return head + "".join(entries) + "</urlset>"


WRITTEN = {
    "a prefix": '<s:urlset xmlns:s="x"><s:url><s:loc>http://a.test/1</s:loc></s:url></s:urlset>',
    "another namespace": '<urlset xmlns="y"><url><loc>http://a.test/1</loc></url></urlset>',
    "no namespace": "<urlset><url><loc>http://a.test/1</loc></url></urlset>",
    "an image's location": urlset(
        f'<url><loc>http://a.test/1</loc><i:image xmlns:i="{IMAGE}">'
        "<i:loc>http://a.test/no</i:loc></i:image></url>"
    ),
    "an image's default namespace": urlset(
        f'<url><loc>http://a.test/1</loc><image xmlns="{IMAGE}">'
        "<loc>http://a.test/no</loc></image></url>"
    ),
    "a prefix without a namespace": urlset(
        "<url><loc>http://a.test/1</loc><i:image><i:loc>http://a.test/no</i:loc></i:image></url>"
    ),
    "blanks in front": "\ufeff\r\n" + urlset(ENTRY.format(1)),
    "words in front": "Notice: x\n" + urlset(ENTRY.format(1)),
    "capitals": "<URLSET><URL><LOC>http://a.test/1</LOC></URL></URLSET>",
    "a comment": urlset("&", "<!-- ", ENTRY.format("no"), " -->", ENTRY.format(1)),
    "a comment without an end": urlset("&", ENTRY.format(1), "<!-- "),
}


STATED_TYPES = ("text/xml", "text/html", "text/plain", "application/rss+xml", "")
#: behind words in front, a root is looked for only where the type says that there is one
ROOTS_FIRST = [
    (form, field) for form in WRITTEN if form != "words in front" for field in STATED_TYPES
]


@pytest.mark.parametrize(("form", "field"), [*ROOTS_FIRST, ("words in front", "text/xml")])
def test_a_sitemap_is_known_by_its_root_however_it_is_written(form, field):
    assert paths(read(WRITTEN[form], field)) == ["/1"]


FAULTS = {
    "a bare mark": ("<url><loc>http://a.test/x?a=1&b=2</loc></url>", ["/x?a=1&b=2"], None),
    "a wrong end": ("<url><loc>http://a.test/x</lo></url>", [], TruncationReason.BROKEN),
    "no end": ("<url><loc>http://a.test/x</loc>", ["/x"], TruncationReason.BROKEN),
    "a control character": ("<url><loc>http://a.test/x\x01</loc></url>", ["/x"], None),
    "an unknown reference": ("<url><loc>http://a.test/&nbsp;</loc></url>", [], None),
    "a bare bracket": ("<url><loc>http://a.test/<x></loc></url>", [], TruncationReason.BROKEN),
    "a section": ("&<url><loc><![CDATA[http://a.test/x?a&b]]></loc></url>", ["/x?a&b"], None),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1251", "shift_jis"])
def test_a_fault_costs_its_entry_and_no_other(fault, encoding):
    entry, found, unread = FAULTS[fault]
    before, behind = ([ENTRY.format(f"{at}{n}") for n in range(3000)] for at in ("a", "b"))
    document = read(urlset(*before, entry, *behind, encoding=encoding).encode(encoding))

    expected = [f"/a{n}" for n in range(3000)] + found + [f"/b{n}" for n in range(3000)]
    assert (paths(document), document.unread) == (expected, unread)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "koi8-r", "gbk"])
@pytest.mark.parametrize("layers", [0, 1, 2])
def test_a_sitemap_is_read_in_any_encoding_and_packed_twice(encoding, layers):
    declared = encoding.removesuffix("-sig")
    body = urlset(ENTRY.format("1"), encoding=declared).encode(encoding)
    for _ in range(layers):
        body = gzip.compress(body)

    assert paths(read(body, "application/gzip")) == ["/1"]


def test_an_index_in_a_file_that_is_packed_is_an_index():
    index = "<sitemapindex><sitemap><loc>http://a.test/m</loc></sitemap></sitemapindex>"

    for body in (index.encode(), gzip.compress(index.encode())):
        document = read(body, "text/plain")
        assert (paths(document), document.is_index) == (["/m"], True)


def test_other_languages_do_not_count_against_the_entries(monkeypatch):
    monkeypatch.setattr("crawling.web.links.MOST_LINKS", 10)
    other = '<x:link xmlns:x="http://www.w3.org/1999/xhtml" href="http://{}.test/{}"/>'
    entry = ENTRY.replace("</url>", other.format("b", "{0}") + other.format("c", "{0}") + "</url>")
    document = read(urlset(*(entry.replace("{}", "{0}").format(n) for n in range(10))))

    assert paths(document)[:10] == [f"/{n}" for n in range(10)]
    assert (len(document.links), document.unread) == (20, TruncationReason.LINKS)


HOSTILE = {
    "tags without end": "<urlset>" + "<url " * 200_000,
    "elements within elements": "<urlset>&<url>" + "<a>" * 200_000,
    "comments without end": "<urlset>&" + "<!--" * 200_000,
    "locations within locations": "<urlset>" + "<loc>" * 200_000,
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_made_to_take_long_ends_with_its_time(kind, monkeypatch):
    monkeypatch.setattr(sitemap, "MOST_SECONDS", 0.5)
    document = read(HOSTILE[kind])

    assert document.links == []
    assert document.unread in (TruncationReason.BROKEN, TruncationReason.TIME)


LISTS = {
    "http://a.test/l'ete.html\nhttp://a.test/etc.\nhttp://a.test/a b\n": [
        "/l'ete.html",
        "/etc.",
        "/a%20b",
    ],
    "http://a.test/1,\r\nHTTP://A.TEST/(2)\r\n": ["/1,", "/(2)"],
    "http://a.test/1.": ["/1."],
    "http://a.test/1. One\nhttp://a.test/2. Two\n": ["/1", "/2"],
    "See http://a.test/1.\n": ["/1"],
}


@pytest.mark.parametrize("text", LISTS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_text_of_addresses_has_one_a_line_and_any_other_has_them_in_its_words(text, encoding):
    for field in ("text/plain", "", "application/octet-stream"):
        assert paths(read(text.encode(encoding), field)) == LISTS[text]


def test_a_packed_list_of_addresses_is_read_and_a_packed_text_is_not():
    assert paths(read(gzip.compress(b"http://a.test/etc.\n"), "application/gzip")) == ["/etc."]
    document = read(gzip.compress(b"See http://a.test/1\n" * 3), "application/gzip")
    assert (paths(document), document.unread) == ([], TruncationReason.TYPE)


def test_sitemaps_of_a_robots_txt_elsewhere_are_found_from_there():
    body = b"User-agent: *\nSitemap: m.xml # ours\nsitemap:http://c.test/x\nSITEMAP: /n.xml\n"

    assert resolve_sitemaps(body, "http://b.test/d/robots.txt") == (
        b"User-agent: *\nSitemap: http://b.test/d/m.xml # ours\nsitemap:http://c.test/x\n"
        b"SITEMAP: http://b.test/n.xml\n"
    )
