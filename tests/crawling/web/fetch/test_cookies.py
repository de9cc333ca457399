"""Cookies are kept and sent as RFC 6265 and its revision say."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from crawling.web.addresses import read_address
from crawling.web.fetch import cookies as rules
from crawling.web.fetch.cookies import (
    LONGEST,
    MOST_BYTES,
    MOST_COOKIES,
    MOST_OF_A_SITE,
    Cookies,
    CookieStore,
    merge_page_cookies,
    read_cookie_date,
    read_set_cookie,
)

NOW = datetime(2026, 11, 28, tzinfo=UTC).timestamp()
DAY = 24 * 3600


def sent(url, *fields, at="http://www.a.test/d/page", store=None):
    """The header of a request after an answer with these fields."""
    cookies = Cookies(store)
    cookies.take(read_address(at), fields)
    return cookies.header(read_address(url))


@pytest.mark.parametrize(
    ("field", "kept"),
    [
        ("a=1", ("a", "1")),
        (" a = 1 2 ; x", ("a", "1 2")),
        ("a=", ("a", "")),
        ("=1", ("", "1")),
        ("alone", ("", "alone")),
        ('a="x;y"', ("a", '"x')),
        ("a=b=c", ("a", "b=c")),
        ("a=1, b=2", ("a", "1, b=2")),
        ("a=\xe9", ("a", "\xe9")),
        ("a\t=\t1", ("a", "1")),
        ("", None),
        (";", None),
        (" = ; Path=/", None),
        ("a=b\r\n c", None),
        ("a=b\0c", None),
        ("a=" + "x" * (LONGEST - 1), ("a", "x" * (LONGEST - 1))),
        ("a=" + "x" * LONGEST, None),
        ("__Secure-a=1; Secure", None),
        ("__secure-a=1", None),
        ("=__Host-a=1; Secure; Path=/", None),
    ],
)
def test_name_and_value_are_what_stands_before_the_attributes(field, kept):
    cookie = read_set_cookie(field, read_address("http://a.test/"), NOW)

    assert (cookie and (cookie.name, cookie.value)) == kept


@pytest.mark.parametrize(
    ("attributes", "seconds"),
    [
        ("", None),
        ("Max-Age=60", 60),
        ("max-age=60; Expires=Wed, 21-Oct-99 07:28:00 GMT", 60),
        ("Expires=Wed, 21 Oct 2099 07:28:00 GMT", 400 * DAY),
        ("Expires=Sun, 29-Nov-2026 00:00:00", DAY),
        ("Max-Age=session", None),
        ("Max-Age=3600.5", None),
        ("Max-Age=+60", None),
        ("Max-Age=", None),
        ("Max-Age", None),
        ("Max-Age=60; Max-Age=x", 60),
        ("Max-Age=60; Max-Age=120", 120),
        ("Max-Age=99999999999999999999", 400 * DAY),
        ("Max-Age=0", -NOW),
        ("Max-Age=-5", -NOW),
        ("Expires=Session", None),
        ("Expires=0", None),
        ("Expires=Sun, 29 Nov 2026 00:00:00 GMT; Expires=junk", DAY),
        ("Max-Age=60; SameSite=Strict; Priority=High; Partitioned; HttpOnly; Version=1; Port", 60),
    ],
)
def test_a_cookie_lasts_as_long_as_it_says(attributes, seconds):
    cookie = read_set_cookie(f"a=1; {attributes}", read_address("http://a.test/"), NOW)

    assert cookie is not None
    assert (cookie.expires_at is None and seconds is None) or cookie.expires_at == NOW + seconds


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("Wed, 21 Oct 2015 07:28:00 GMT", (2015, 10, 21, 7, 28, 0)),
        ("Wednesday, 21-Oct-15 07:28:00 GMT", (2015, 10, 21, 7, 28, 0)),
        ("Wed Oct 21 07:28:00 2015", (2015, 10, 21, 7, 28, 0)),
        ("21 october 99 7:8:9", (1999, 10, 21, 7, 8, 9)),
        ("2015 Oct 21 07:28:00 +0200", (2015, 10, 21, 7, 28, 0)),
        ("Wed, 21-Oct-69 07:28:00", (2069, 10, 21, 7, 28, 0)),
        ("Wed, 21-Oct-70 07:28:00", (1970, 10, 21, 7, 28, 0)),
        ("07:28:00x 21z Octoberfest 2015", (2015, 10, 21, 7, 28, 0)),
        ("Wed, 31 Feb 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 2015 24:28:00 GMT", None),
        ("Wed, 21 Oct 1600 07:28:00 GMT", None),
        ("Wed, 21 Oct 2015", None),
        ("21/10/2015 07:28:00", None),
        ("", None),
    ],
)
def test_dates_are_read_by_the_standards_own_rules(text, moment):
    assert read_cookie_date(text) == (moment and datetime(*moment, tzinfo=UTC))


@pytest.mark.parametrize(
    ("field", "goes_to", "stays_from"),
    [
        ("a=1", ["http://www.a.test/d/x"], ["http://a.test/d/", "http://x.www.a.test/d/"]),
        ("a=1", ["http://www.a.test:8080/d", "https://www.a.test/d/"], ["http://www.a.test/e"]),
        ("a=1; Domain=a.test", ["http://a.test/d/", "http://b.a.test/d/"], ["http://ba.test/d/"]),
        ("a=1; domain=.A.TEST; Path=/", ["http://a.test/"], ["http://a.tests/"]),
        ("a=1; Domain=; Path=/", ["http://www.a.test/"], ["http://a.test/"]),
        ("a=1; Domain=a.test; Domain=; Path=/", ["http://www.a.test/"], ["http://a.test/"]),
        ("a=1; Domain=test", [], ["http://www.a.test/d/", "http://test/d/"]),
        ("a=1; Domain=b.test", [], ["http://www.a.test/d/", "http://b.test/d/"]),
        ("a=1; Domain=x.www.a.test", [], ["http://www.a.test/d/", "http://x.www.a.test/d/"]),
        ("a=1; Path=/x", ["http://www.a.test/x", "http://www.a.test/x/y?z"],
         ["http://www.a.test/xy", "http://www.a.test/"]),
        ("a=1; Path=/x/", ["http://www.a.test/x/y"], ["http://www.a.test/x"]),
        ("a=1; Path=relative", ["http://www.a.test/d/x"], ["http://www.a.test/relative"]),
        ("a=1; Path=/x; Path", ["http://www.a.test/d/x"], ["http://www.a.test/x"]),
        ("a=1; Path=/; Secure", ["https://www.a.test/"], ["http://www.a.test/"]),
        ("a=1; Path=/; Secure=false", ["https://www.a.test/"], ["http://www.a.test/"]),
        ("a=1; Path=/; SameSite=Strict; HttpOnly", ["http://www.a.test/"], []),
    ],
)  # fmt: skip
def test_a_cookie_goes_where_it_may(field, goes_to, stays_from):
    assert all(sent(url, field) == "a=1" for url in goes_to)
    assert all(sent(url, field) == "" for url in stays_from)


def test_names_and_addresses_that_stand_for_others_take_no_domain():
    at = "http://127.0.0.1:8000/"

    assert sent("http://127.0.0.1:9000/", "a=1", at=at) == "a=1"
    assert sent("http://127.0.0.1/", "a=1; Domain=0.0.1", "b=1; Domain=127.0.0.1", at=at) == "b=1"
    assert sent("http://b.github.io/", "a=1; Domain=github.io", at="http://a.github.io/") == ""
    assert sent("http://localhost/", "a=1; Domain=localhost", at="http://localhost/") == "a=1"


@pytest.mark.parametrize(
    ("field", "is_kept"),
    [
        ("__Secure-a=1; Secure; Domain=a.test", True),
        ("__Host-a=1; Secure; Path=/", True),
        ("__host-a=1; secure; path=/", True),
        ("__Host-a=1; Secure; Path=/d", False),
        ("__Host-a=1; Secure", False),
        ("__Host-a=1; Secure; Path=/; Domain=www.a.test", False),
        ("__Host-a=1; Path=/", False),
        ("__Secure-a=1", False),
    ],
)
def test_a_prefix_is_kept_with_its_promise_only(field, is_kept):
    url = "https://www.a.test/d/"

    assert bool(sent(url, field, at=url)) is is_kept


def test_the_longest_path_goes_first_and_then_the_oldest():
    fields = ["c=1; Path=/", "b=1; Path=/d", "a=1; Path=/d/", "d=1; Path=/", "c=2; Path=/"]

    assert sent("http://www.a.test/d/", *fields) == "a=1; b=1; c=2; d=1"
    assert sent("http://www.a.test/", "=x; Path=/", "=y; Path=/", "y=1; Path=/") == "y; y=1"


def test_a_cookie_is_deleted_by_an_expiry_in_the_past():
    store = CookieStore()
    url = "http://www.a.test/"

    assert sent(url, "a=1; Path=/", "b=1; Path=/", store=store, at=url) == "a=1; b=1"
    assert sent(url, "a=; Path=/; Max-Age=0", store=store, at=url) == "b=1"
    assert sent(url, "b=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT", store=store, at=url) == ""


def test_what_is_sent_by_http_replaces_no_secure_cookie():
    store, secure, plain = CookieStore(), "https://a.test/", "http://a.test/"
    sent(secure, "a=1; Path=/; Secure", at=secure, store=store)

    assert sent(secure, "a=2; Path=/", at=plain, store=store) == "a=1"
    assert sent(secure, "a=3; Path=/", at=secure, store=store) == "a=3"


def test_too_many_cookies_drive_out_the_oldest_and_no_other_hosts():
    store = CookieStore()
    sent("http://b.a.test/", "other=1; Path=/", at="http://b.a.test/", store=store)
    many = [f"c{number}=1; Path=/" for number in range(MOST_COOKIES + 50)]

    kept = sent("http://www.a.test/", *many, store=store).split("; ")

    assert kept == [field.partition(";")[0] for field in many[-MOST_COOKIES:]]
    assert sent("http://b.a.test/", store=store) == "other=1"
    for host in range(MOST_OF_A_SITE):
        sent("http://a.test/", "x=1", at=f"http://h{host}.a.test/", store=store)
    assert len(store._sites["a.test"]) <= MOST_OF_A_SITE


def test_cookies_never_make_a_request_larger_than_servers_take():
    fields = [f"c{number}={'x' * 1000}; Path=/" for number in range(10, 50)]

    cookies = sent("http://www.a.test/", *fields).split("; ")

    assert [cookie[:4] for cookie in cookies] == [f"c{number}=" for number in range(42, 50)]


def test_cookies_come_back_from_their_dump_and_reach_other_hosts_of_their_domain():
    first = Cookies()
    first.take(read_address("http://a.test/"), ["own=1", "all=1; Domain=a.test", "no=1; Domain=b"])
    assert first.has_changed
    dumped = first.dump()
    assert not first.has_changed

    again, other = Cookies(), Cookies()
    again.learn(dumped)
    other.learn(dumped)

    assert again.header(read_address("http://a.test/")) == "own=1; all=1"
    assert other.header(read_address("http://b.a.test/")) == "all=1"


def test_cookies_that_an_earlier_version_stored_are_still_sent():
    old = {"version": 0, "name": "a", "value": "b", "port": None, "domain": "a.test", "path": "/"}
    cookies = Cookies()
    cookies.learn([old | {"secure": False, "expires": None, "discard": True}])

    assert cookies.header(read_address("http://a.test/x")) == "a=b"


def test_of_two_shifts_the_later_word_counts(monkeypatch):
    address, times = read_address("http://a.test/"), iter([NOW, NOW + 1, NOW + 2])
    monkeypatch.setattr(rules.time, "time", lambda: next(times))
    earlier, later = Cookies(), Cookies()
    earlier.take(address, ["a=1", "b=1"])
    dumped = earlier.dump()
    monkeypatch.setattr(rules.time, "time", lambda: NOW + 10)
    later.learn(dumped)
    later.take(address, ["a=; Max-Age=0", "b=2"])

    later.learn(dumped)

    assert later.header(address) == "b=2"


def test_a_cookie_that_is_set_again_as_it_was_is_no_change():
    cookies, address = Cookies(), read_address("http://a.test/")
    cookies.take(address, ["a=1; Max-Age=3600"])
    cookies.dump()
    cookies.take(address, ["a=1; Max-Age=3601", "gone=; Max-Age=0"])

    assert not cookies.has_changed


def test_the_cookies_of_the_latest_sites_are_kept(monkeypatch):
    monkeypatch.setattr(rules, "MOST_SITES", 3)
    store = CookieStore()
    for name in ("a", "b", "c", "a", "d"):
        sent(f"http://{name}.test/", "k=1", at=f"http://{name}.test/", store=store)

    known = {name for name in "abcd" if store.known_to(f"{name}.test")}
    assert known >= {"a", "d"}
    assert "b" not in known


@pytest.mark.parametrize(
    ("own", "of_page", "sent"),
    [
        ("", "", ""),
        ("", "a=1; b=2", "a=1; b=2"),
        ("a=1", "", "a=1"),
        ("a=1", "a=2; b=3; =4; 5", "a=1; b=3; =4; 5"),
        ("a=1", "b=" + "x" * MOST_BYTES + "; c=1", "a=1"),
    ],
)
def test_a_pages_cookies_replace_none_of_the_crawls_and_have_a_bound(own, of_page, sent):
    assert merge_page_cookies(own, of_page) == sent
