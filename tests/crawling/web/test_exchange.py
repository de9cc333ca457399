"""The bytes handed on for the archive are those that went over the wire."""

import gzip
import random

import pytest

from crawling.web.document_stream import SPOOL_BYTES
from crawling.web.statuses import FetchStatus
from tests.crawling.raw import OK, get, say, serve_raw

ODD = b"HTTP/1.1 200 Fine\r\nX-a:1\r\nx-A:  2 \r\nContent-Length: 5\r\n\r\n"


def exchange_of(url, **options):
    exchange = get(url, keep=True, **options).exchange
    payload = exchange.payload.read()
    exchange.close()
    return exchange.request, exchange.head, payload


def test_the_head_is_as_it_came_and_not_as_it_was_understood():
    with serve_raw(say(ODD + b"hello")) as (url, _):
        assert exchange_of(url)[1:] == (ODD, b"hello")


def test_the_request_is_as_it_was_sent():
    seen = []

    def talk(connection):
        seen.append(connection.recv(4096))
        connection.sendall(ODD + b"hello")

    with serve_raw(talk) as (url, _):
        assert exchange_of(url)[0] == seen[0]
    assert seen[0].startswith(b"GET / HTTP/1.1\r\n")


def test_of_several_answers_the_last_counts():
    with serve_raw(say(b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" + ODD + b"hello")) as (url, _):
        assert exchange_of(url)[1] == ODD


@pytest.mark.parametrize("size", [0, 10, SPOOL_BYTES + 1, 500_000])
def test_a_compressed_payload_stays_compressed(size):
    packed = gzip.compress(random.Random(size).randbytes(size))
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)

    with serve_raw(say(head + packed)) as (url, _):
        assert exchange_of(url)[1:] == (head, packed)


@pytest.mark.parametrize("coding", [b"", b"Content-Encoding: gzip\r\n"])
def test_a_chunked_payload_is_put_together(coding):
    body = gzip.compress(b"abc" * 1000) if coding else b"abc" * 1000
    head = OK + coding + b"Transfer-Encoding: chunked\r\n\r\n"
    chunks = (
        b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:7], body[7:]))
        + b"0\r\nTrailer: x\r\n\r\n"
    )

    with serve_raw(say(head + chunks)) as (url, _):
        assert exchange_of(url)[1:] == (head, body)


def test_a_coding_that_was_not_asked_for_is_kept_as_it_came():
    head = OK + b"Content-Encoding: br\r\nContent-Length: 4\r\n\r\n"

    with serve_raw(say(head + b"\x0b\x01\x80a")) as (url, _):
        assert exchange_of(url)[1:] == (head, b"\x0b\x01\x80a")


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (OK + b"Content-Length: 100\r\n\r\nshort", FetchStatus.BROKEN_ANSWER),
        (b"just text, as HTTP 0.9 had it", FetchStatus.MALFORMED),
    ],
)
def test_an_answer_that_is_none_has_no_exchange(said, status):
    with serve_raw(say(said)) as (url, _):
        fetched = get(url, keep=True)

    assert (fetched.status, fetched.exchange) == (status, None)


def test_an_answer_that_is_too_big_has_no_exchange():
    with serve_raw(say(OK + b"Content-Length: 5000\r\n\r\n" + b"x" * 5000)) as (url, _):
        fetched = get(url, keep=True, max_bytes=100)

    assert (fetched.status, fetched.exchange) == (FetchStatus.TOO_BIG, None)


@pytest.mark.parametrize(
    "interim",
    [b"100 Continue", b"102 Processing", b"103 Early Hints\r\nLink: </s.css>; rel=preload"],
)
def test_interim_answers_are_not_the_answer(interim):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"

    with serve_raw(say(b"HTTP/1.1 " + interim + b"\r\n\r\n", head + b"hello")) as (url, _):
        assert exchange_of(url)[1:] == (head, b"hello")
