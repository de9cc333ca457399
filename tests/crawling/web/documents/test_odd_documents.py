"""Documents that say little about themselves, or something wrong."""

import gzip

import pytest

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import DocumentSource
from crawling.web.documents.registry import read_document
from crawling.web.documents.sitemap import CHUNK_BYTES

URL = "http://a.test/d/e"
PAGE = "<!doctype html><title>Grüße 世界</title><a href='/ü?q=é'>x</a>"
MAP = "<?xml version='1.0'?><urlset>{}</urlset>"


def entries(count):
    return MAP.format("".join(f"<url><loc>http://a.test/{n}</loc></url>" for n in range(count)))


def read(body, content_type="text/xml", charset=None):
    body = body.encode() if isinstance(body, str) else body
    return read_document(DocumentSource(DocumentStream.of(body), URL, content_type, charset))


def paths(document):
    return [link.url.removeprefix("http://a.test") for link in document.links]


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_or_a_label_is_known_by_its_zero_bytes(codec):
    page = read(PAGE.encode(codec), "text/html")
    text = read("siehe http://a.test/grüße und 世界".encode(codec), "text/plain")

    assert (page.title, page.charset) == ("Grüße 世界", codec.replace("-16-", "-16"))
    assert paths(page) == ["/%C3%BC?q=%C3%A9"]
    assert (text.text, text.charset) == ("siehe http://a.test/grüße und 世界", codec)


def test_bytes_with_a_few_zeros_are_no_utf_16():
    assert read(b"<title>a\0b</title>" + b"x" * 600, "text/html").title == "a\ufffdb"


def test_a_character_that_the_limit_cuts_does_not_make_another_set(monkeypatch):
    monkeypatch.setattr("crawling.web.documents.text.MOST_BYTES", 6)

    assert read("grüß", "text/plain").charset == "utf-8"
    assert read("grüßü", "text/plain").text.startswith("grü")


@pytest.mark.parametrize(
    "content_type", ["application/xml", "text/xml", "text/plain", "application/octet-stream"]
)
def test_a_packed_sitemap_is_known_by_its_first_bytes(content_type):
    assert paths(read(gzip.compress(entries(2).encode()), content_type)) == ["/0", "/1"]


def test_a_sitemap_that_comes_in_parts_loses_nothing_at_their_borders():
    whole = entries(5000)
    assert len(whole) > 3 * CHUNK_BYTES

    assert paths(read(whole)) == paths(read(gzip.compress(whole.encode()), "application/gzip"))
    assert paths(read(whole)) == [f"/{n}" for n in range(5000)]


def test_a_sitemap_that_is_cut_off_or_broken_is_read_as_far_as_it_goes():
    whole = entries(5000)
    packed = gzip.compress(whole.encode())

    assert paths(read(whole[: len(whole) // 2]))[:3] == ["/0", "/1", "/2"]
    assert len(paths(read(packed[: len(packed) // 2], "application/gzip"))) > 1000
    assert len(paths(read(whole.replace("/7<", "/7?a=1&b=2<")))) == 5000
    assert paths(read("\n\n" + whole))[:2] == ["/0", "/1"]


@pytest.mark.parametrize(
    "head", ["", "<!DOCTYPE x [<!ENTITY f 'boom'>]>", "<!DOCTYPE x SYSTEM 'http://a.test/x.dtd'>"]
)
def test_a_reference_that_nobody_expanded_makes_no_url(head):
    locations = "<loc>http://a.test/never-&f;</loc><loc>http://a.test/1?a=1&amp;b=2</loc>"
    document = read(f"{head}<urlset>{locations}</urlset>")

    assert paths(document) == ["/1?a=1&b=2"]


@pytest.mark.parametrize("broken", ["", "<b>"])
def test_only_an_element_without_others_names_a_location(broken):
    nested = "<loc>http://a.test/x<loc>http://a.test/1</loc>y</loc>"

    assert paths(read(f"<urlset>{nested}{broken}</urlset>")) == ["/1"]


def test_a_location_longer_than_any_url_is_none():
    assert paths(read(MAP.format(f"<loc>http://a.test/{'x' * 10_000}</loc><loc>/1</loc>"))) == [
        "/1"
    ]


def test_a_late_name_of_a_character_set_counts():
    page = "<title>{}</title>" + "<!-- -->" * 300 + "<meta charset=windows-1251><p>Привет"

    assert read(page.encode("windows-1251"), "text/html").charset == "windows-1251"
