"""One document over HTTP from a real server: its headers, its body, and the limits on them (SEEDS
B1, B2).
"""

import gzip
import time
import zlib

import brotlicffi
import pytest

from crawling.web.fetch.adapter import PinnedSession
from crawling.web.fetch.content_codings import PIECE_BYTES, DecodedBody, zstd
from crawling.web.fetch.http import Fetched
from crawling.web.statuses import FetchStatus
from tests.crawling.raw import OK, get, say, say_all, serve_raw


def test_a_document_comes_with_its_status_headers_and_body(make_site):
    site = make_site({"/": (404, {"Content-Type": 'Text/HTML; Charset="gb2312"'}, "not here")})

    fetched = get(f"{site.url}/")

    assert (fetched.status, fetched.http_status, fetched.body.read(), fetched.error) == (
        404,
        404,
        b"not here",
        "",
    )
    assert (fetched.content_type, fetched.charset) == ("text/html", "gb2312")
    assert 0 < fetched.seconds < 2


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        (None, ("", None)),
        ("text/html", ("text/html", None)),
        ("text/html;charset=", ("text/html", None)),
        (";;=;charset=x", ("", None)),
    ],
)
def test_content_types_of_any_shape_are_read(content_type, expected):
    fetched = Fetched(200, {} if content_type is None else {"Content-Type": content_type})

    assert (fetched.content_type, fetched.charset) == expected


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body)[2:-4]),
        ("br", brotlicffi.compress),
        ("zstd", zstd.compress),
        ("gzip", lambda body: gzip.compress(body[:10]) + gzip.compress(body[10:])),
        ("gzip, gzip", lambda body: gzip.compress(gzip.compress(body))),
    ],
)
def test_compressed_bodies_are_decoded(make_site, encoding, encode):
    site = make_site({"/": (200, {"Content-Encoding": encoding}, encode(b"hello" * 50_000))})

    assert get(f"{site.url}/").body.read() == b"hello" * 50_000


def test_chunked_bodies_are_put_together():
    chunks = (
        b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (b"a" * 70_000, b"b", b"c" * 9))
        + b"0\r\n\r\n"
    )

    with serve_raw(say(OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)) as (url, _):
        assert get(url).body.read() == b"a" * 70_000 + b"b" + b"c" * 9


def test_a_body_in_thousands_of_chunks_of_one_byte_is_put_together():
    body = bytes(range(256)) * 100
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"

    with serve_raw(say(OK + b"Transfer-Encoding: chunked\r\n\r\n", chunks)) as (url, _):
        assert get(url).body.read() == body


def test_a_body_without_a_length_ends_with_the_connection():
    with serve_raw(say(OK + b"\r\n" + b"x" * 100_000)) as (url, _):
        assert get(url).body.read() == b"x" * 100_000


def test_every_piece_is_counted_as_received(make_site):
    site, counts = make_site({"/": "x" * 200_000}), []

    get(f"{site.url}/", received=counts.append)

    assert 200_000 < sum(counts) < 201_000  # its head, too
    assert len(counts) > 1


@pytest.mark.parametrize(
    ("written", "is_asked_for"),
    [("/ü".encode(), "/%C3%BC"), ("/ü?%ü".encode("latin-1"), "/%FC?%%FC")],
)
def test_where_a_redirect_leads_is_asked_for_in_the_bytes_that_it_is_written_in(
    written, is_asked_for
):
    with serve_raw(
        say(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + written + b"\r\n\r\n")
    ) as (url, _):
        assert get(url).location == is_asked_for


def test_the_time_we_hold_back_for_bandwidth_is_not_the_servers():
    # ten waits of 0.05 s are ours, and longer than the server may take
    body = b"x" * 10 * PIECE_BYTES

    with (
        serve_raw(say(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)) as (url, _),
        PinnedSession(answer_seconds=0.2) as session,
    ):
        fetched = get(url, session=session, received=lambda count: time.sleep(0.05))

    assert (fetched.status, len(fetched.body.read())) == (200, len(body))


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 99999999\r\n\r\n",
        b"\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n5F5E0FF\r\n",
    ],
)
def test_what_is_too_big_is_not_read_to_its_end(head):
    sent = []
    pieces = (sent.append(1) or b"x" * PIECE_BYTES for _ in range(1000))

    with serve_raw(say(OK + head, then=lambda connection: say_all(connection, pieces))) as (url, _):
        fetched = get(url, max_bytes=100_000)

    assert (fetched.status, fetched.http_status) == (FetchStatus.TOO_BIG, 200)
    assert 100_000 < len(fetched.body.read()) <= 100_000 + PIECE_BYTES
    assert len(sent) < 500


def test_a_body_of_just_the_limit_is_taken(make_site):
    site = make_site({"/": "x" * 1000})

    assert get(f"{site.url}/", max_bytes=1000).status == 200
    assert get(f"{site.url}/", max_bytes=999).status == FetchStatus.TOO_BIG


def test_a_compressed_body_counts_as_big_as_it_unfolds(make_site):
    site = make_site({"/": (200, {"Content-Encoding": "gzip"}, gzip.compress(b"\0" * 50_000_000))})

    fetched = get(f"{site.url}/", max_bytes=100_000)

    assert fetched.status == FetchStatus.TOO_BIG
    assert len(fetched.body.read()) <= 100_000 + PIECE_BYTES


def test_what_is_packed_and_cut_off_is_marked(make_site):
    cut = gzip.compress(b"hello" * 1000)[:-12]
    site = make_site({"/": (200, {"Content-Encoding": "gzip"}, cut)})

    fetched = get(f"{site.url}/", keep=True)

    assert (fetched.status, fetched.exchange.is_cut_short) == (200, True)
    assert "breaks off" in fetched.error
    fetched.close()


@pytest.mark.parametrize("size", [1, 2, 3, 24, 25])
def test_files_packed_behind_each_other_are_unpacked_wherever_pieces_part_them(size):
    first, second = gzip.compress(b"hello", mtime=0), gzip.compress(b" world", mtime=0)
    assert len(first) == 25
    body = first + second + b"\0not packed"

    unpacked = DecodedBody((body[at : at + size] for at in range(0, len(body), size)), "gzip")

    assert b"".join(unpacked) == b"hello world"
    assert not unpacked.is_cut_short


def test_what_came_of_an_answer_that_failed_is_counted_as_received_too():
    counts = []

    with serve_raw(say(OK + b"Content-Length: 5000\r\n\r\n" + b"x" * 1000)) as (url, _):
        fetched = get(url, received=counts.append)

    assert fetched.status == FetchStatus.BROKEN_ANSWER
    assert sum(counts) > 1000
