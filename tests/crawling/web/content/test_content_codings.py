"""Content codings as servers state them, rightly and wrongly, and what they may cost."""

import gzip
import time
import zlib
from functools import cache

import brotlicffi
import pytest
from requests.exceptions import ContentDecodingError

from crawling.web.fetch.content_codings import MOST_BYTES, DecodedBody, zstd
from crawling.web.fetch.http import Fetched
from crawling.web.fetch.robots import status_and_text
from crawling.web.statuses import FetchStatus
from tests.crawling.raw import get, say, serve_raw

PAGE = (
    b"<!doctype html><title>A page</title><p>" + b"with some words and a <a href=/x>link</a>" * 40
)
PACKED = gzip.compress(PAGE, mtime=0)
#: how codings are stated, what came, and whether something is said of it
READ = {
    "unknown": ("utf-8", PAGE, True),
    "none": ("none", PAGE, True),
    "binary": ("Binary", PAGE, True),
    "identity": ("identity", PAGE, False),
    "empty members": (" , gzip, ,", PACKED, False),
    "in capitals": ("GZip", PACKED, False),
    "by its old name": ("x-gzip", PACKED, False),
    "an unknown one before": ("utf-8, gzip", PACKED, True),
    "an unknown one behind": ("gzip, utf-8", PACKED, True),
    "stated twice": ("gzip, gzip", PACKED, True),
    "packed twice": ("gzip, gzip", gzip.compress(PACKED, mtime=0), False),
    "two kinds": ("br, gzip", gzip.compress(brotlicffi.compress(PAGE), mtime=0), False),
    "not gzip": ("gzip", PAGE, True),
    "not deflate": ("deflate", PAGE, True),
    "not br": ("br", PAGE, True),
    "not zstd": ("zstd", PAGE, True),
    "short and not br": ("br", b"<p>short", True),
    "short and not deflate": ("deflate", b"<p>short", True),
    "deflate in gzip's form": ("deflate", PACKED, False),
    "deflate in zlib's form": ("deflate", zlib.compress(PAGE), False),
    "bare deflate": ("deflate", zlib.compress(PAGE)[2:-4], False),
    "garbage behind gzip": ("gzip", PACKED + b"<!-- cached -->", False),
    "garbage behind zstd": ("zstd", zstd.compress(PAGE) + b"<!-- cached -->", False),
    "two frames of zstd": ("zstd", zstd.compress(PAGE[:9]) + zstd.compress(PAGE[9:]), False),
    "a wrong checksum": ("gzip", PACKED[:-8] + b"12345678", True),
    "nothing": ("gzip", b"", False),
    "nothing, br": ("br", b"", False),
}


def unpack(coding, body, size=65536):
    pieces = DecodedBody((body[at : at + size] for at in range(0, len(body), size)), coding)
    return b"".join(pieces), pieces


@pytest.mark.parametrize("size", [1, 7, 65536])
@pytest.mark.parametrize(("coding", "came", "is_noted"), READ.values(), ids=READ)
def test_a_document_is_read_however_its_codings_are_stated(coding, came, is_noted, size):
    unpacked, pieces = unpack(coding, came, size)

    assert unpacked == (PAGE if len(came) > 20 else came)
    assert bool(pieces.note) is is_noted


@pytest.mark.parametrize("size", [1, 7, 65536])
@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", PACKED[:-30]),
        ("deflate", zlib.compress(PAGE)[:-30]),
        ("zstd", zstd.compress(PAGE * 400)[:-5]),
        ("gzip", PACKED[:-40] + b"\xff" * 40),
    ],
)
def test_of_what_is_cut_off_or_damaged_the_beginning_is_read(coding, packed, size):
    unpacked, pieces = unpack(coding, packed, size)

    assert unpacked.startswith(PAGE[:20])
    assert pieces.is_cut_short
    assert pieces.note


def test_more_codings_than_any_server_has_a_reason_for_are_left_as_they_came():
    unpacked, pieces = unpack("gzip, gzip, gzip, gzip", PACKED)

    assert unpacked == PACKED
    assert "4 codings" in pieces.note


@cache
def bomb(layers):
    """Empty stored blocks, of which any number has no content, packed over and over."""
    blocks = b"\x00\x00\x00\xff\xff" * 24_000_000
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"
    packed = head + blocks + b"\x01\x00\x00\xff\xff" + bytes(8)
    for _ in range(layers - 1):
        packed = gzip.compress(packed, 6)
    return packed


@pytest.mark.parametrize("layers", [2, 3])
def test_codings_without_output_are_not_unpacked_without_end(layers):
    packed, began = bomb(layers), time.thread_time()

    with pytest.raises(ContentDecodingError, match="more than what came"):
        unpack(", ".join(["gzip"] * layers), packed)

    assert time.thread_time() - began < 1


def test_unpacking_ends_with_its_processor_time(monkeypatch):
    monkeypatch.setattr("crawling.web.fetch.content_codings.MOST_SECONDS", 0)

    with pytest.raises(ContentDecodingError, match="takes more than"):
        unpack("gzip", gzip.compress(b"\0" * MOST_BYTES))


def test_a_document_that_unpacks_without_end_costs_its_url_and_no_more():
    packed = bomb(3)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip, gzip\r\nContent-Length: %d\r\n\r\n"

    with serve_raw(say(head % len(packed) + packed)) as (url, _):
        fetched = get(url, keep=True)

    assert (fetched.status, fetched.http_status) == (FetchStatus.UNDECODABLE, 200)


def test_rules_that_unpack_without_end_hold_as_far_as_they_were_unpacked():
    assert status_and_text(Fetched(FetchStatus.UNDECODABLE, http_status=200)) == (200, b"")


@pytest.mark.parametrize(
    "answer",
    [
        b"Content-Encoding: gzip\r\nContent-Length: 9\r\n\r\nno gzip..",
        b"Content-Encoding: gzip\r\nContent-Length: 900\r\n\r\n" + PACKED[:50],
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\nno chunk\r\n",
        b"Content-Length: 999\r\n\r\nshort",
    ],
)
@pytest.mark.parametrize("status", [b"302 Found", b"404 Not Found"])
def test_a_redirect_or_an_error_counts_whatever_becomes_of_its_body(status, answer):
    with serve_raw(say(b"HTTP/1.1 " + status + b"\r\nLocation: /found\r\n" + answer)) as (url, _):
        fetched = get(url, keep=True)

    assert fetched.status == int(status[:3])
    assert (fetched.location, bool(fetched.error)) == ("/found", True)
    fetched.close()


def test_a_transfer_coding_that_was_not_asked_for_is_taken_off():
    body = b"".join(b"%x\r\n%s\r\n" % (1, PACKED[at : at + 1]) for at in range(len(PACKED)))
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"

    with serve_raw(say(head + body + b"0\r\n\r\n")) as (url, _):
        assert get(url).body.read() == PAGE


def test_transfer_codings_are_not_asked_for():
    heads = []

    with serve_raw(lambda connection: heads.append(connection.recv(4096).lower())) as (url, _):
        get(url)

    assert b"host:" in heads[0]
    assert b"\r\nte:" not in heads[0]
