"""Types of documents: the tables of the MIME Sniffing and Fetch Standards (of their tests, in
part), and what is read beyond them.
"""

import pytest

from crawling.web.content.media_types import (
    document_type,
    is_sniffing_forbidden,
    parse_media_type,
    stated_type,
)

NAME = "0123456789" * 13
PARSED = {
    "text/html;charset=gbk": ("text/html", "gbk"),
    "TEXT/HTML;CHARSET=GBK": ("text/html", "GBK"),
    "text/html;charset=gbk(": ("text/html", "gbk("),
    "text/html;x=(;charset=gbk": ("text/html", "gbk"),
    "text/html;charset=gbk;charset=windows-1255": ("text/html", "gbk"),
    "text/html;charset =gbk": ("text/html", ""),
    "text/html ;charset=gbk": ("text/html", "gbk"),
    "text/html; charset=gbk": ("text/html", "gbk"),
    "text/html;charset= gbk": ("text/html", " gbk"),
    "text/html;charset='gbk'": ("text/html", "'gbk'"),
    "text/html;test;charset=gbk": ("text/html", "gbk"),
    "text/html;test=;charset=gbk": ("text/html", "gbk"),
    "text/html;';charset=gbk": ("text/html", "gbk"),
    'text/html;";charset=gbk': ("text/html", "gbk"),
    "text/html ; ; charset=gbk": ("text/html", "gbk"),
    "text/html;;;;charset=gbk": ("text/html", "gbk"),
    'text/html;charset="gbk"': ("text/html", "gbk"),
    'text/html;charset="gbk': ("text/html", "gbk"),
    'text/html;charset=gbk"': ("text/html", 'gbk"'),
    'text/html;charset="\\ gbk"': ("text/html", " gbk"),
    'text/html;charset="\\g\\b\\k"': ("text/html", "gbk"),
    'text/html;charset="gbk"x': ("text/html", "gbk"),
    "text/html;charset={gbk}": ("text/html", "{gbk}"),
    f"text/html;{NAME}=x;charset=gbk": ("text/html", "gbk"),
    f"{NAME}/{NAME}": (f"{NAME}/{NAME}", ""),
    'x/x;charset="\\': ("x/x", "\\"),
    "text/html;test=\xff;charset=gbk": ("text/html", "gbk"),
    "x/x;charset=\ufffd;x=x": ("x/x", ""),
}
#: none of these is a type
FAILURES = [
    *("", "\t", "bogus", "bogus/", "bogus/ ", "bogus/bogus/;", "</>", "(/)", "{/}", "text/html("),
    *("text/html(;doesnot=matter", "text/html charset=utf-8", "text /html", "\u0100/\u0100", ";"),
]
#: values of one or several lines: the type, and its encoding
EXTRACTED = {
    ("", "text/plain"): ("text/plain", ""),
    ("text/plain", ""): ("text/plain", ""),
    ("text/html", "text/plain"): ("text/plain", ""),
    ("text/plain;charset=gbk", "text/html"): ("text/html", ""),
    ("text/plain;charset=gbk", "text/html;charset=windows-1254"): ("text/html", "windows-1254"),
    ("text/plain;charset=gbk", "text/plain"): ("text/plain", "gbk"),
    ("text/plain;charset=gbk", "text/plain;charset=windows-1252"): ("text/plain", "windows-1252"),
    ("text/html;charset=gbk", 'text/html;x=",text/plain'): ("text/html", "gbk"),
    ("text/html;charset=gbk", "text/plain", "text/html"): ("text/html", ""),
    ("text/plain", "*/*"): ("text/plain", ""),
    ("*/*", "text/html"): ("text/html", ""),
    ("text/html", "*/*;charset=gbk"): ("text/html", ""),
    ('text/html;x="', "text/plain"): ("text/html", ""),
    ('text/html;"', "text/plain"): ("text/html", ""),
    ("text/html", "nonsense"): ("text/html", ""),
}
MP4 = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom"
WEBM = b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm"
#: one frame of MPEG-1 layer 3, 128 kbit/s at 44.1 kHz, and the head of the next
MP3 = b"\xff\xfb\x90\x00" + b"\0" * 413 + b"\xff\xfb\x90\x00"
MAP = b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url>'
#: what bytes without a type are
SNIFFED = {
    b"<!DOCTYPE html><p>": "text/html",
    b" \r\n\t\x0c<HtMl >": "text/html",
    b"<script>": "text/html",
    b"<!-- a comment -->": "text/html",
    b"<a href=/x>": "text/html",
    b"<p>text": "text/html",
    b"<meta charset=utf-8>": "text/html",
    b"\xef\xbb\xbf<!doctype html>": "text/html",
    "\ufeff<html>".encode("utf-16-le"): "text/html",
    b"<htmlx>": "text/plain",
    b"<?xml version='1.0'?><x/>": "text/xml",
    b"%PDF-1.7": "application/pdf",
    b"%!PS-Adobe-3.0": "application/postscript",
    b"\xfe\xff\0a": "text/plain",
    b"\xff\xfea\0": "text/plain",
    b"\xef\xbb\xbftext": "text/plain",
    b"GIF89a\0": "image/gif",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff\xe0": "image/jpeg",
    b"RIFF\0\0\0\0WEBPVP8": "image/webp",
    b"RIFF\0\0\0\0WAVE": "audio/wave",
    b"OggS\0": "application/ogg",
    MP4: "video/mp4",
    WEBM: "video/webm",
    MP3: "audio/mpeg",
    b"\x1f\x8b\x08\0": "application/x-gzip",
    b"PK\x03\x04\0": "application/zip",
    b"wOF2\0": "font/woff2",
    b"plain \x1b[1m": "text/plain",
    b"\x00\x01\x02": "application/octet-stream",
    MAP: "application/xml",
    b"<?xml version='1.0'?><!-- x --><s:sitemapindex xmlns:s='x'>": "application/xml",
    b"<?xml-stylesheet href='x'?>\n<rss version='2.0'>": "application/rss+xml",
    b"<feed xmlns='http://www.w3.org/2005/Atom'>": "application/atom+xml",
    b'<rdf:RDF xmlns="http://purl.org/rss/1.0/">': "application/rss+xml",
}
#: field, first bytes, and the type by which they are read
STATED = [
    ("text/html", b"<p>", "text/html"),
    ("text/html;charset=x, nonsense", b"<p>", "text/html"),
    ("text/html charset=utf-8", b"<p>", "text/html"),
    ("html", b"<p>", "text/html"),
    ("application/unknown", b"<p>", "text/html"),
    ("unknown/unknown", b"<p>", "text/html"),
    ("*/*", b"<p>", "text/html"),
    ("application/octet-stream", b"<!doctype html>", "text/html"),
    ("binary/octet-stream", MAP, "application/xml"),
    ("application/force-download", b"%PDF-1.7", "application/pdf"),
    ("application/octet-stream", b"\x7fELF\0\0", "application/octet-stream"),
    # a feed or HTML (section 7.3), and a sitemap
    ("text/html", b"<?xml version='1.0'?>\n<rss version=2>", "application/rss+xml"),
    ("text/html", b"<!-- c --><feed>", "application/atom+xml"),
    ("text/html", b"<rdf:RDF>", "text/html"),
    ("text/html", b"\xef\xbb\xbf\r\n" + MAP, "application/xml"),
    ("text/html", b"<p><rss>", "text/html"),
    ("text/html", b"http://a.test/b\nhttp://a.test/c d\n", "text/plain"),
    ("text/plain", MAP, "application/xml"),
    ("application/rss+xml", MAP, "application/rss+xml"),
    ("text/xml", MAP, "text/xml"),
    ("application/x-xml", MAP, "application/xml"),
    ("application/xhtml+xml", MAP, "application/xml"),
    ("application/x-gzip", MAP, "application/xml"),
    ("application/gzip", b"\x1f\x8b\x08\0", "application/gzip"),
    # text or binary (section 7.2)
    ("text/plain", b"text", "text/plain"),
    ("text/plain", b"<p>", "text/plain"),
    ("text/plain", b"\0\1", "application/octet-stream"),
    ("text/plain; charset=ISO-8859-1", b"\0\1", "application/octet-stream"),
    ("text/plain; charset=x", b"\0\1", "text/plain"),
    ("text/plain", b"%PDF-1.7\n\0", "application/pdf"),
    ("text/x-html", b"<!doctype html>", "text/html"),
    ("text/x-python", b"import x", "text/x-python"),
    ("text/css", b"<p>", "text/css"),
    ("text/javascript", b"<!-- x", "text/javascript"),
    # images, sound and film by their signatures
    ("image/png", b"\xff\xd8\xff", "image/jpeg"),
    ("image/png", b"<p>", "image/png"),
    ("image/svg+xml", b"GIF89a", "image/svg+xml"),
    ("video/x", WEBM, "video/webm"),
    ("audio/x", b"ID3", "audio/mpeg"),
    ("", b"", ""),
    ("text/html", b"", "text/html"),
]
#: the same with X-Content-Type-Options: nosniff
UNSNIFFED = [
    ("", b"<p>", "text/plain"),
    ("", b"GIF89a", "image/gif"),
    ("text/plain", b"\0\1", "text/plain"),
    ("image/png", b"\xff\xd8\xff", "image/png"),
    ("text/plain", MAP, "application/xml"),
]


@pytest.mark.parametrize(("text", "expected"), PARSED.items())
def test_a_type_is_parsed_as_the_standard_says(text, expected):
    parsed = parse_media_type(text)

    assert parsed is not None
    assert (parsed.essence, parsed.charset) == expected


@pytest.mark.parametrize("text", FAILURES)
def test_what_is_no_type_is_none(text):
    assert parse_media_type(text) is None


@pytest.mark.parametrize(("lines", "expected"), EXTRACTED.items())
def test_of_several_values_the_last_that_is_a_type_counts(lines, expected):
    found = stated_type(", ".join(lines))

    assert (found.essence, found.charset) == expected


@pytest.mark.parametrize(("start", "expected"), SNIFFED.items())
def test_a_document_without_a_type_is_known_by_its_bytes(start, expected):
    assert document_type("", start) == expected


@pytest.mark.parametrize(("field", "start", "expected"), STATED)
def test_bytes_count_where_the_stated_type_says_little(field, start, expected):
    assert document_type(field, start) == expected


@pytest.mark.parametrize(("field", "start", "expected"), UNSNIFFED)
def test_nosniff_makes_no_page_of_what_is_not_said_to_be_one(field, start, expected):
    assert document_type(field, start, options="NoSniff, x") == expected


def test_only_the_first_value_forbids_sniffing():
    assert [
        is_sniffing_forbidden(field) for field in ("nosniff", "x, nosniff", "", "no sniff")
    ] == [
        True,
        False,
        False,
        False,
    ]
