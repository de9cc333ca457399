"""Heads are read as the standard library reads them, whatever a server sends."""

import email.parser
import re
import socket
from http.client import HTTPException, HTTPMessage, HTTPResponse
from io import BytesIO

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from urllib3 import HTTPHeaderDict

from crawling.fetchers.heads import Answer, read_fields

NAMES = [b"Content-Length", b"Transfer-Encoding", b"Connection", b"Keep-Alive", b"X", b"", b" folded", b"From a", b"\xe9"]
VALUES = [b"3", b"-3", b"+3", b"x", b"close", b"keep-alive, x", b"chunked", b"CHUNKED", b""]
STARTS = [b"1.1 200 OK", b"1.0 200", b"0.9 204 x", b"0.95 200 OK", b"1.1 304 ", b"2 200 OK", b"1.1 100 Continue", b""]
starts = st.sampled_from([b"HTTP/" + start for start in STARTS])
fields = st.tuples(
    st.sampled_from(NAMES),
    st.sampled_from([b": ", b":", b":\t ", b" : ", b""]),
    st.sampled_from(VALUES) | st.binary(max_size=8),
    st.sampled_from([b"\r\n", b"\r\n", b"\n", b"\r\r\n"]),
).map(b"".join)
ASKED = ("status", "reason", "version", "chunked", "chunk_left", "will_close", "length")


@given(st.lists(fields, max_size=6))
@example([b"A: b\r\n", b" c\r\n"])
@example([b"A: b\x0bC: d\r\n"])
def test_fields_are_those_that_the_parser_of_mail_finds(lines):
    lines = [*b"".join(lines).splitlines(keepends=True), b"\r\n"]

    theirs = email.parser.Parser(_class=HTTPMessage).parsestr(b"".join(lines).decode("latin-1"))

    safe = [(name, re.sub(r"[\r\n][\r\n \t]*|\0", " ", value)) for name, value in theirs.items()]
    assert [*read_fields(lines).items()] == [*HTTPHeaderDict(safe).items()]


@given(st.lists(st.tuples(starts, st.lists(fields, max_size=4)), min_size=1, max_size=3))
@example([(b"HTTP/1.1 200 OK", [b"X: " + b"x" * 65_536 + b"\r\n"])])
@example([(b"HTTP/0.95 200 OK", [])])
@example([(b"HTTP/1.1 200 OK", [b"X%d: x\r\n" % number for number in range(101)])])
def test_an_answer_begins_as_in_the_standard_library(heads):
    """Which of several fields of a name counts, the library does not ask: the first does."""
    assume(all(len({name_of(line) for line in lines}) == len(lines) for _, lines in heads))
    sent = b"".join(start + b"\r\n" + b"".join(lines) + b"\r\n" for start, lines in heads)

    assert begun(Answer, sent) == begun(HTTPResponse, sent)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (b"Content-Length: 5\r\nContent-Length: 5\r\n", (False, 5)),
        (b"Content-Length: 5, 5\r\n", (False, 5)),
        (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", (True, None)),
        (b"Transfer-Encoding: gzip, chunked\r\nContent-Length: 9\r\n", (True, None)),
    ],
)
def test_what_is_stated_twice_counts_once(fields, expected):
    answer = Answer(Feed(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n"))
    answer.begin()

    assert (answer.chunked, answer.length) == expected


def test_lengths_that_differ_are_no_answer():
    with pytest.raises(HTTPException, match="several lengths"):
        Answer(Feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n")).begin()


class Feed:
    """A socket as far as an answer looks at it."""

    def __init__(self, sent):
        self.makefile = lambda mode: BytesIO(sent)


def name_of(line):
    return line.partition(b":")[0].strip().lower()


def begun(kind, sent):
    """What an answer of this kind knows of itself, or what it raises."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 18)
        theirs.sendall(sent)
        theirs.shutdown(socket.SHUT_WR)
        answer = kind(ours, method="GET")
        try:
            answer.begin()
        except (HTTPException, OSError) as error:
            return type(error)
        finally:
            answer.close()
        return [*HTTPHeaderDict(answer.headers.items()).items()], [getattr(answer, name) for name in ASKED]
