"""Answers whose framing is wrong or never ends."""

from __future__ import annotations

import gzip
import zlib

import brotlicffi

from crawling.web.fetch.content_codings import zstd
from crawling.web.statuses import FetchStatus
from tests.webs.case import Case, answer, links


def breaks_off(talk):
    talk.send(answer(b"half", {"Content-Length": "100"}))


CASES = [
    Case(
        "a page and a link",
        {"/": answer(links("/a")), "/a": answer("a")},
        pages_end={"/a": ("s", 200)},
        small=True,
    ),
    Case(
        "a body shorter than its stated length",
        breaks_off,
        verdict=("f", FetchStatus.BROKEN_ANSWER),
        tries=3,
        seconds=25,
        small=True,
    ),
    Case(
        "no HTTP at all",
        b"220 ready\r\n\r\n",
        verdict=("f", FetchStatus.MALFORMED),
        tries=2,  # once over the connection of robots.txt, and once over a connection of its own
        small=True,
    ),
    Case(
        "an answer larger than the filter lets in",
        answer(b"x" * 100_000),
        verdict=("x", FetchStatus.TOO_LARGE),
        order={"max_document_bytes": 10_000},
        small=True,
    ),
]

MIB = 1024 * 1024
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def by_byte(talk):
    """A body in chunks of one byte, which never ends."""
    if talk.send(OK + b"Transfer-Encoding: chunked\r\n\r\n"):
        talk.send_all(b"1\r\nx\r\n" * 10_000 for _ in range(1000))


def without_end(head: bytes, piece: bytes):
    """An answer that continues as long as it is read."""

    def talk(talk):
        if talk.send(OK + head + b"\r\n"):
            talk.send_all(piece for _ in range(10_000))

    return talk


def bomb(kind: int) -> bytes:
    """200 MiB of zeros, compressed: each piece but the first has the same bytes, since a full flush
    forgets the earlier input. No reader comes to the end, so the checksum is left out.
    """
    press = zlib.compressobj(9, wbits=kind)
    first, other = (press.compress(bytes(MIB)) + press.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + other * 199


def cookie_hoard(talk):
    """Each page sets more cookies, and more than 16 KiB of them in one request are refused."""
    sent = len(talk.asked.headers.get("cookie", ""))
    if sent > 16_000:
        return answer(status=431)
    cookies = "\r\n".join(
        f"Set-Cookie: {talk.path.strip('/') or 'home'}{number}={'x' * 4000}" for number in range(10)
    )
    body = links(*(f"/{number}" for number in range(5))).encode()
    return OK + f"Content-Length: {len(body)}\r\n{cookies}\r\n\r\n".encode() + body


def closes_under_the_second(talk):
    """Keep the connection open after the first page and close it during the next request, once."""
    if talk.path == "/a" and talk.try_number == 1:
        return None
    return answer(links("/a") if talk.path == "/" else "a")


def asked_again_after_the_delay(seen):
    asked = [asked.at for asked in seen.server.asked if asked.target == "/a"]
    wrong = [] if seen.url("/a").attempts == 1 else ["it cost a try"]
    return wrong + ([] if asked[1] - asked[0] >= 0.5 else ["asked again at once"])


TOO_BIG = ("f", FetchStatus.TOO_BIG)
MALFORMED = ("f", FetchStatus.MALFORMED)
#: a small claim; documents may be larger than its memory, but no larger than 64 MiB
ORDER = {"claim": {"fetch_slots": 2, "memory": 6}}

CASES += [
    Case(
        name,
        OK + fields + b"Content-Length: 2\r\n\r\nhi" if b"Length" not in fields else OK + fields,
        verdict=MALFORMED,
        small=True,
    )
    for name, fields in {
        "a header line without a colon": b"rubbish\r\n",
        "a NUL in a header": b"A: b\0c\r\n",
        "Content-Length: +2": b"Content-Length: +2\r\n\r\nhi",
        "two lengths": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
        "chunked that is not the last coding": b"Transfer-Encoding: chunked, gzip\r\n",
        "a header line of 110 KB": b"A: " + 110_000 * b"b" + b"\r\n",
        "5,001 header lines": 5_000 * b"A: b\r\n",
    }.items()
]
CASES += [
    Case(name, said, verdict=MALFORMED, tries=tries, small=True)
    for name, (said, tries) in {
        "an empty line before the answer": (b"\r\n" + OK + b"Content-Length: 2\r\n\r\nhi", 1),
        "two redirects in one": (b"HTTP/1.1 302 X\r\nLocation: /a\r\nLocation: /b\r\n\r\n", 1),
        "a status of four digits": (b"HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nhi", 1),
        # the same result as an answer that is not HTTP at all
        "the first frame of HTTP/2": (b"\0\0\x06\4\0\0\0\0\0\0\3\0\0\0\x64", 2),
        "a version of HTTP that there is not": (
            b"HTTP/1.7 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            2,
        ),
    }.items()
]
CASES += [
    Case(
        "304 that nobody asked for",
        b"HTTP/1.1 304 Not Modified\r\n\r\n",
        verdict=MALFORMED,
        small=True,
    ),
    Case(
        "an unknown Content-Encoding",
        {"/": answer(b"<a href=/x>", {"Content-Encoding": "x-own"}), "/x": answer("x")},
        pages_end={"/x": ("s", 200)},
        most_requests=2,
        small=True,
    ),
    Case(
        "br and zstd",
        {
            "/": answer(brotlicffi.compress(links("/a").encode()), {"Content-Encoding": "br"}),
            "/a": answer(zstd.compress(links("/b").encode()), {"Content-Encoding": "zstd"}),
            "/b": answer("b"),
        },
        pages_end={"/a": ("s", 200), "/b": ("s", 200)},
        small=True,
    ),
    Case(
        "gzip that is cut off",
        answer(gzip.compress(links("/a").encode() * 100)[:-12], {"Content-Encoding": "gzip"}),
        judge=lambda seen: [] if "breaks off" in seen.url("/").error else ["not marked"],
        small=True,
    ),
    Case(
        "103 Early Hints first",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + answer("hello"),
        small=True,
    ),
    Case(
        "a cookie hoard",
        cookie_hoard,
        pages_end={f"/{number}": ("s", 200) for number in range(5)},
        order={"cookies": True},
        small=True,
    ),
    Case(
        "a body in chunks of one byte",
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + 20_000 * b"1\r\nx\r\n" + b"0\r\n\r\n",
        seconds=5,
        small=True,
    ),
    Case(
        "a kept connection that is closed under the next request",
        closes_under_the_second,
        pages_end={"/a": ("s", 200)},
        order={"delay_seconds": 0.5},
        judge=asked_again_after_the_delay,
        small=True,
    ),
]
CASES += [
    Case(
        "chunks of one byte without end",
        by_byte,
        verdict=("f", FetchStatus.BROKEN_ANSWER),
        tries=3,
        seconds=25,
    ),
]
CASES += [
    Case(name, pages, verdict=TOO_BIG, order=ORDER, seconds=20, small=True)
    for name, pages in {
        "a body without end or length": without_end(b"", b"x" * MIB),
        "chunks without end": without_end(
            b"Transfer-Encoding: chunked\r\n", b"100000\r\n" + b"x" * MIB + b"\r\n"
        ),
        "a stated length of terabytes": without_end(
            b"Content-Length: 9999999999999\r\n", b"x" * MIB
        ),
        "a gzip bomb": answer(bomb(31), {"Content-Encoding": "gzip"}),
        "a deflate bomb": answer(bomb(15), {"Content-Encoding": "deflate"}),
        "a brotli bomb": answer(
            brotlicffi.compress(bytes(80 * MIB), quality=1), {"Content-Encoding": "br"}
        ),
        "a zstd bomb": answer(zstd.compress(bytes(200 * MIB)), {"Content-Encoding": "zstd"}),
    }.items()
]
CASES += [
    Case(
        "a gzip bomb, and the usual claim",
        answer(bomb(31), {"Content-Encoding": "gzip"}),
        verdict=TOO_BIG,
    ),
    Case(
        "a body without end, and the usual claim",
        without_end(b"", b"x" * MIB),
        verdict=TOO_BIG,
        seconds=20,
    ),
]
