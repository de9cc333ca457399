"""Records are what WARC 1.1 says they are, whatever bytes the exchange had; warcio is the judge."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from io import BytesIO
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from crawling.archive import records
from crawling.archive.decoded_documents import decoded
from crawling.archive.records import IDENTICAL, Capture, Original, record_id
from crawling.web.addresses import read_address
from crawling.web.document_stream import DocumentStream
from crawling.web.links import surt

CAPTURE = Capture(
    "http://a.test/ä", datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), 0.25, "192.0.2.1", 3
)
FILE = UUID(int=7)


def packed(*made) -> bytes:
    return b"".join(piece for record in made for piece in records.packed(record))


@given(st.binary(max_size=300), st.binary(max_size=3000))
def test_head_and_payload_come_back_byte_by_byte(junk, body):
    head = (
        b"HTTP/1.1 200 OK\r\nX-Junk: " + junk.replace(b"\n", b"").replace(b"\r", b"") + b"\r\n\r\n"
    )
    payload = records.measure(head, DocumentStream.of(body), b"")

    content = packed(records.response(record_id(FILE, 0), CAPTURE, head, payload))

    header, _, block = gzip.decompress(content).partition(b"\r\n\r\n")
    assert block == head + body + b"\r\n\r\n"
    assert f"Content-Length: {len(head + body)}".encode() in header.splitlines()


@given(st.binary(max_size=3000), st.integers(0, 1000))
def test_every_kind_of_record_passes_the_check_of_digests(body, offset):
    head, identity = b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n", record_id(FILE, offset)
    payload = records.measure(head, DocumentStream.of(body), b"")
    original = Original(record_id(FILE, 5), "http://a.test/", CAPTURE.began_at)
    content = packed(
        records.warcinfo(
            identity,
            at=CAPTURE.began_at,
            file_name="f.warc.gz",
            facts={"software": "x", "isPartOf": "ü"},
        ),
        records.response(identity, CAPTURE, head, payload),
        records.request(
            identity, CAPTURE, b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", answer=identity
        ),
        records.revisit(
            identity, CAPTURE, head, profile=IDENTICAL, digest=payload.digest, original=original
        ),
        records.metadata(identity, CAPTURE, answer=identity, outlinks=["http://b.test/"]),
    )

    found = []
    for record in ArchiveIterator(BytesIO(content), check_digests="raise"):
        found.append(
            (record.rec_type, record.raw_stream.read() if record.rec_type == "response" else None)
        )
    assert found == [
        ("warcinfo", None),
        ("response", body),
        ("request", None),
        ("revisit", None),
        ("metadata", None),
    ]


def test_dates_are_utc_and_to_the_microsecond():
    content = gzip.decompress(packed(records.metadata("<x>", CAPTURE, answer="<y>", outlinks=[])))

    assert b"WARC-Date: 2026-01-02T03:04:05.000678Z\r\n" in content


def test_ids_differ_by_file_and_place():
    ids = {record_id(UUID(int=file), offset) for file in range(3) for offset in range(3)}

    assert len(ids) == 9
    assert all(one.startswith("<urn:uuid:") and one.endswith(">") for one in ids)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://www.example.com/A?b=C", "com,example,www)/a?b=c"),
        ("https://example.com:8443/", "com,example:8443)/"),
        ("http://192.0.2.1:80/x", "192.0.2.1)/x"),
        ("http://[2001:db8::1]:81/", "[2001:db8::1]:81)/"),
    ],
)
def test_keys_of_the_index_sort_a_domain_together(url, key):
    assert surt(read_address(url)) == key


@pytest.mark.parametrize(
    ("payload", "coding"),
    [
        (gzip.compress(b"hi"), "gzip"),
        (gzip.compress(gzip.compress(b"hi")), "gzip, X-GZIP"),
        (b"hi", "x-own"),
        (b"hi", "gzip"),
    ],
    # a packed payload tells the time, and so would its name
    ids=["once", "twice", "by what we lack", "not at all"],
)
def test_payloads_are_unpacked_as_far_as_can_be(payload, coding):
    assert decoded(payload, coding) == b"hi"
