"""Seeds as people type them: the scheme may be left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.orders.seeds import read_seeds, read_typed
from crawling.web.addresses import BadUrl


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("example.org", "https://example.org/"),
        ("  www.Example.org/News?page=2#top ", "https://www.example.org/News?page=2"),
        ("example.org:443/x", "https://example.org/x"),
        ("example.org:8080/x", "http://example.org:8080/x"),
        ("192.0.2.7/a", "http://192.0.2.7/a"),
        ("[2001:db8::1]:81/", "http://[2001:db8::1]:81/"),
        ("bücher.example", "https://xn--bcher-kva.example/"),
        ("example.org/?u=http://other.example/", "https://example.org/?u=http://other.example/"),
        ("http://example.org", "http://example.org/"),
    ],
)
def test_an_address_without_a_scheme_means_what_browsers_take_it_for(typed, meant):
    assert read_typed(typed).url == meant


@pytest.mark.parametrize(
    "typed",
    ["example", "localhost:8000", "mailto:me@example.org", "me:pw@example.org", "/news", ""],
)
def test_what_could_mean_anything_is_refused(typed):
    with pytest.raises(BadUrl):
        read_typed(typed)


@given(st.text(alphabet="ab.:/[]@?#1 -", max_size=30))
def test_a_whole_address_means_itself_and_nothing_else_is_raised(text):
    try:
        url = read_typed(text).url
    except BadUrl:
        return
    assert read_typed(url).url == url


def test_the_same_address_with_and_without_a_scheme_is_one_seed():
    addresses, wrong = read_seeds(["example.org", "https://example.org/", "nonsense"])

    assert [address.url for address in addresses] == ["https://example.org/"]
    assert len(wrong) == 1
