"""The end of a request is found as RFC 9112 says, in however many pieces the request comes in."""

from __future__ import annotations

import pytest

from crawlsite.middleware import whole_request
from crawlsite.middleware.whole_request import Arrival, IncomingRequest

GET = b"GET / HTTP/1.1\r\nHost: a\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE = [
    GET + b"\r\n",
    b"\r\n" + GET + b"\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    POST + b"Content-Length: 4\r\n\r\nbody",
    POST + b"content-length:4\r\n\r\nbody",
    POST + b"Content-Length: 0\r\n\r\n",
    POST + b"Content-Length: 8\r\n\r\na\nb\r\n\r\nc",
    CHUNKED + b"0\r\n\r\n",
    CHUNKED + b"4\r\nbody\r\n0\r\n\r\n",
    CHUNKED + b"1\r\nb\r\n3\r\nody\r\n0\r\n\r\n",
    CHUNKED + b"A\r\n0123456789\r\n0\r\n\r\n",
    CHUNKED + b"0004\r\nbody\r\n000\r\n\r\n",
    CHUNKED + b"4;name=value\r\nbody\r\n0;last\r\n\r\n",
    CHUNKED + b'4;name="a;b"\r\nbody\r\n0\r\n\r\n',
    CHUNKED + b"4\r\nbody\r\n0\r\nTrailer: a\r\nOther: b\r\n\r\n",
    CHUNKED + b"7\r\n0\r\n\r\n0\r\r\n0\r\n\r\n",  # what looks like an end is content
    POST + b"TRANSFER-ENCODING: Chunked\r\n\r\n0\r\n\r\n",
]
ODD = [
    b"GET / HTTP/1.1\nHost: a\r\n",
    GET + b"X: a\n",
    POST + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\n",
    POST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\n",
    POST + b"Content-Length: 4, 4\r\n\r\n",
    POST + b"Content-Length: +4\r\n\r\n",
    POST + b"Content-Length: -4\r\n\r\n",
    POST + b"Content-Length: 0x4\r\n\r\n",
    POST + b"Content-Length: \r\n\r\n",
    POST + b"Content-Length: " + b"9" * 16 + b"\r\n\r\n",
    POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
    POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n",
    POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    POST + b"Transfer-Encoding: identity\r\n\r\n",
    POST + b"Transfer-Encoding: xchunked\r\n\r\n",
    CHUNKED + b"body\r\n",
    CHUNKED + b"\r\n",
    CHUNKED + b"-4\r\n",
    CHUNKED + b"0x4\r\n",
    CHUNKED + b" 4\r\n",
    CHUNKED + b"1" * 16 + b"\r\n",
    CHUNKED + b"4;" + b"a" * 300,
]


def arrived(*pieces: bytes) -> list[Arrival]:
    """How much there is after each piece."""
    request = IncomingRequest(0.0)
    found = []
    for piece in pieces:
        request.text += piece
        found.append(request.arrival())
    return found


def bytes_of(text: bytes) -> list[bytes]:
    return [text[at : at + 1] for at in range(len(text))]


@pytest.mark.parametrize("text", WHOLE)
def test_a_request_is_whole_at_its_last_byte(text):
    assert arrived(*bytes_of(text)) == [Arrival.PART] * (len(text) - 1) + [Arrival.WHOLE]


@pytest.mark.parametrize("text", WHOLE)
def test_what_is_sent_behind_a_request_changes_nothing(text):
    assert arrived(text + b"GET /next HTTP/1.1\r\nX: a\nb") == [Arrival.WHOLE]


@pytest.mark.parametrize("text", ODD)
def test_a_request_whose_end_cannot_be_told_is_not_waited_for(text):
    assert arrived(text) == [Arrival.ODD]
    *before, last = arrived(*bytes_of(text))
    assert last is Arrival.ODD
    assert set(before) <= {Arrival.PART, Arrival.ODD}


def test_a_head_beyond_its_limit_is_refused_also_if_it_comes_as_a_whole():
    lines = b"a:\r\n" * (whole_request.MOST_HEAD_BYTES // 4)

    assert arrived(GET + lines[100:] + b"\r\n") == [Arrival.WHOLE]
    assert arrived(GET + lines + b"\r\n") == [Arrival.LONG_HEAD]


@pytest.mark.parametrize(
    ("heads", "most"),
    [
        (b"", whole_request.MOST_BYTES_OF_STRANGERS),
        (b"Cookie: a=b; sessionid=c\r\n", whole_request.MOST_BYTES),
        (b"Authorization: Bearer x\r\n", whole_request.MOST_BYTES),
    ],
)
def test_a_body_beyond_its_limit_is_refused(heads, most):
    stated = POST + heads + b"Content-Length: %d\r\n\r\n"
    chunked = POST + heads + b"Transfer-Encoding: chunked\r\n\r\n%X\r\n" % (most + 1)

    assert arrived(stated % most) == [Arrival.PART]
    assert arrived(stated % (most + 1)) == [Arrival.LONG_BODY]
    assert arrived(chunked, b"x" * (most - 10), b"x" * 20) == [
        Arrival.PART,
        Arrival.PART,
        Arrival.LONG_BODY,
    ]


def test_a_head_without_end_and_a_body_of_very_many_chunks_are_refused(monkeypatch):
    monkeypatch.setattr(whole_request, "MOST_CHUNKS", 3)
    head = GET + b"X: a\r\n" * (whole_request.MOST_HEAD_BYTES // 6 - 5)

    assert arrived(head, b"X: a\r\n" * 5) == [Arrival.PART, Arrival.LONG_HEAD]
    assert arrived(CHUNKED + b"1\r\na\r\n" * 2 + b"0\r\n\r\n") == [Arrival.WHOLE]
    assert arrived(CHUNKED + b"1\r\na\r\n" * 4) == [Arrival.LONG_BODY]
