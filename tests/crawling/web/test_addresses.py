"""One URL, one spelling (SEEDS W11)."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawling.web.addresses import (
    MAX_NAME_LENGTH,
    MAX_URL_LENGTH,
    BadUrl,
    canonical_address,
    fingerprint,
    read_address,
    read_route,
)

#: any text at all, lone surrogates included, and text that is nearly a URL
texts = st.text(st.characters(exclude_categories=())) | st.builds(
    "{}{}{}".format,
    st.sampled_from(["http://", "https:", "//", "http://a", "http://[", "HTTP:\\\\"]),
    st.text(max_size=20),
    st.text(max_size=20),
)


def read(text, base=None):
    """The canonical URL, or None where there is none."""
    try:
        return read_address(text, base)
    except BadUrl:
        return None


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("HTTP://Example.ORG", "http://example.org/"),
        ("http://example.org:80/", "http://example.org/"),
        ("https://example.org:443/", "https://example.org/"),
        ("https://example.org:80/", "https://example.org:80/"),
        ("http://example.org/a/./b/../c", "http://example.org/a/c"),
        ("http://example.org/../../x", "http://example.org/x"),
        ("http://example.org/a b", "http://example.org/a%20b"),
        ("http://example.org/ü?ü", "http://example.org/%C3%BC?%C3%BC"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[2001:DB8:0::1]/", "http://[2001:db8::1]/"),
        ("  http://example.org/\n", "http://example.org/"),
        ("http:\\\\example.org\\a", "http://example.org/a"),
        ("http://example.org/?b=2&a=1", "http://example.org/?b=2&a=1"),
        ("http://example.org?", "http://example.org/?"),
    ],
)
def test_all_spellings_of_a_url_become_one(text, url):
    assert read_address(text).url == url


@pytest.mark.parametrize(
    "text", ["http://a.test/x", "http://a.test/x#", "http://a.test/x#part", "http://a.test/x#a#b"]
)
def test_the_fragment_is_dropped(text):
    assert read_address(text).url == "http://a.test/x"


@pytest.mark.parametrize(
    ("link", "url"),
    [
        ("x", "http://a.test/d/x"),
        ("/x", "http://a.test/x"),
        ("?q", "http://a.test/d/e?q"),
        ("//b.test", "http://b.test/"),
        ("https:", None),
        ("../../x", "http://a.test/x"),
        ("", "http://a.test/d/e?f"),
        ("#part", "http://a.test/d/e?f"),
        ("mailto:me@a.test", None),
        ("javascript:void(0)", None),
    ],
)
def test_a_link_is_joined_to_its_base(link, url):
    address = read(link, "http://a.test/d/e?f")

    assert (address and address.url) == url


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a URL"),
        ("example.org", "not a URL"),
        ("http://", "not a URL"),
        ("http://a b/", "not a URL"),
        ("http://a.test:99999/", "not a URL"),
        ("http://a.test\0/", "not a URL"),
        ("http://\ud800/", "not a URL"),
        ("gopher://a.test/", "scheme 'gopher'"),
        ("file://host/etc/passwd", "three slashes"),
        ("http://me:secret@a.test/", "user name"),
        ("http://me@a.test/", "user name"),
        ("http://a.test:0/", "port 0"),
        ("http://a.test/" + "x" * MAX_URL_LENGTH, "longer than"),
        ("http://" + "a." * 150 + "test/", "longer than"),
        ("x" * 5_000_000, "not a URL"),
    ],
)
def test_what_cannot_be_crawled_is_refused_with_a_reason(text, reason):
    with pytest.raises(BadUrl, match=reason) as refusal:
        read_address(text)
    assert len(str(refusal.value)) < 500


@given(texts, st.none() | st.just("http://a.test/d/"))
@example("\0" * 9000, None)
@example("http://a.test/" + "ü" * 5000, None)
def test_no_text_whatever_raises_anything_but_bad_url(text, base):
    address = read(text, base)

    if address:
        address.url.encode("ascii")
        assert len(address.url) <= MAX_URL_LENGTH
        assert len(address.hostname) <= MAX_NAME_LENGTH
        assert 0 < address.port < 65536


@given(texts, st.none() | st.just("http://a.test/d/"))
def test_the_canonical_form_of_a_canonical_url_is_itself(text, base):
    address = read(text, base)

    if address:
        assert read_address(address.url) == address
        assert address.origin + address.target == address.url


@given(texts, st.none() | texts)
@example("http://[2001:db8::1]:8080/a", None)
@example("http://a.test/b:80", None)
@example("file:///etc/papers", None)
def test_a_canonical_url_is_read_quickly_and_just_the_same(text, base):
    address = read(text, base)
    if address:
        assert canonical_address(address.url) == address


@pytest.mark.parametrize(
    ("url", "host_key", "origin", "target"),
    [
        ("http://a.test", "a.test", "http://a.test", "/"),
        ("https://a.test/x?y", "a.test", "https://a.test", "/x?y"),
        ("http://a.test:8080/x", "a.test:8080", "http://a.test:8080", "/x"),
        ("http://a.test:443/", "a.test:443", "http://a.test:443", "/"),
        ("http://[::1]:8080/", "[::1]:8080", "http://[::1]:8080", "/"),
    ],
)
def test_an_address_knows_its_host_origin_and_target(url, host_key, origin, target):
    address = read_address(url)

    assert (address.host_key, address.origin, address.target) == (host_key, origin, target)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_fingerprint_fits_a_signed_bigint_and_is_always_the_same(text):
    assert -(2**63) <= fingerprint(text) < 2**63
    assert fingerprint(text) == fingerprint(text)


def test_fingerprints_use_both_signs_and_tell_urls_apart():
    marks = {fingerprint(f"http://a.test/{number}") for number in range(10_000)}

    assert len(marks) == 10_000
    assert 4000 < sum(mark < 0 for mark in marks) < 6000


@pytest.mark.parametrize(
    ("text", "route"),
    [
        ("#/about", "http://a.example/x?y#/about"),
        ("#!about", "http://a.example/x?y#!about"),
        ("http://a.example/x?y#/a b", "http://a.example/x?y#/a%20b"),
        ("#about", None),
        ("/other#/about", None),
        ("http://b.example/x?y#/about", None),
        ("#/" + "x" * MAX_URL_LENGTH, None),
    ],
)
@pytest.mark.parametrize("page", ["http://a.example/x?y", "http://a.example/x?y#/from"])
def test_a_route_keeps_its_fragment_and_leads_to_its_own_document(page, text, route):
    found = read_route(text, canonical_address(page))

    assert (found and found.url) == route
    if found:
        assert (found.target, found.document_url) == ("/x?y", "http://a.example/x?y")
