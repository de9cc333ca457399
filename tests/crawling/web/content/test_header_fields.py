"""Lines of a head that come twice, and heads that are not as they should be."""

import pytest

from crawling.web.fetch.http import PARTIAL
from crawling.web.http_caching import read_head
from crawling.web.statuses import FetchStatus
from tests.crawling.raw import get, say, serve_raw

DOUBLED = {
    ("Location: /a", "Location: /a"): ("Location", "/a"),
    ("Location:", "location: /a"): ("Location", "/a"),
    ("Location: /a,b",): ("Location", "/a,b"),
    ("Retry-After: 3", "Retry-After: 5"): ("Retry-After", "3"),
    ('ETag: "a"', 'ETag: "b"'): ("ETag", '"a"'),
    ("Last-Modified: Sat, 28 Nov 2026 00:00:00 GMT",) * 2: (
        "Last-Modified",
        "Sat, 28 Nov 2026 00:00:00 GMT",
    ),
    ("Cache-Control: no-cache", "Cache-Control: max-age=3"): (
        "Cache-Control",
        "no-cache, max-age=3",
    ),
    ("Content-Type: text/html", "Content-Type: x"): ("Content-Type", "text/html, x"),
}


@pytest.mark.parametrize(("lines", "expected"), DOUBLED.items())
def test_a_line_that_comes_twice_is_joined_only_if_it_is_a_list(lines, expected):
    name, value = expected
    head = "\r\n".join(["HTTP/1.1 302 Found", *lines, "Content-Length: 0", "", ""])

    with serve_raw(say(head.encode())) as (url, _):
        fetched = get(url)

    assert fetched.headers[name] == value
    assert read_head(head)[name.lower()] == value


def test_locations_that_differ_are_no_redirect_as_in_browsers():
    head = b"HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"

    with serve_raw(say(head)) as (url, _):
        fetched = get(url)

    assert fetched.status == FetchStatus.MALFORMED
    assert "Multiple Location" in fetched.error


@pytest.mark.parametrize(
    ("content_range", "is_partial"),
    [("bytes 0-3/10", True), ("bytes 4-7/8", True), ("bytes 0-3/4", False), ("", True)],
)
def test_a_part_that_was_not_asked_for_is_not_the_whole(content_range, is_partial):
    head = (
        f"HTTP/1.1 206 Partial\r\nContent-Range: {content_range}\r\nContent-Length: 4\r\n\r\nbody"
    )

    with serve_raw(say(head.encode())) as (url, _):
        fetched = get(url, keep=True)

    assert (fetched.status, fetched.is_partial, fetched.error == PARTIAL) == (
        206,
        is_partial,
        is_partial,
    )
    assert fetched.exchange.is_cut_short is is_partial
    fetched.close()
