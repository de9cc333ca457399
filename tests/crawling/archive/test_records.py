"""Records are what WARC 1.1 says they are, whatever bytes the exchange had; warcio is the judge."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime, timedelta, timezone
from io import BytesIO
from uuid import RFC_4122, UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from crawling.archive import records
from crawling.archive.decoded_documents import decoded_payload
from crawling.archive.records import (
    IDENTICAL,
    NOT_MODIFIED,
    Capture,
    Original,
    new_namespace,
    record_id,
)
from crawling.web.addresses import read_address
from crawling.web.document_stream import DocumentStream
from crawling.web.links import surt

CAPTURE = Capture(
    "http://a.test/ä", datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), 0.25, "192.0.2.1", 3
)
FILE = UUID(int=7)


def packed(*made) -> bytes:
    return b"".join(piece for record in made for piece in records.gzip_member(record))


@given(st.binary(max_size=300), st.binary(max_size=3000))
def test_head_and_payload_come_back_byte_by_byte(junk, body):
    head = (
        b"HTTP/1.1 200 OK\r\nX-Junk: " + junk.replace(b"\n", b"").replace(b"\r", b"") + b"\r\n\r\n"
    )
    payload = records.measure_payload(head, DocumentStream.of(body), b"")

    content = packed(records.response_record(record_id(FILE, 0), CAPTURE, head, payload))

    header, _, block = gzip.decompress(content).partition(b"\r\n\r\n")
    assert block == head + body + b"\r\n\r\n"
    assert f"Content-Length: {len(head + body)}".encode() in header.splitlines()


@given(st.binary(max_size=3000), st.integers(0, 1000))
def test_every_kind_of_record_passes_the_check_of_digests(body, offset):
    head, identity = b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n", record_id(FILE, offset)
    payload = records.measure_payload(head, DocumentStream.of(body), b"")
    original = Original(record_id(FILE, 5), "http://a.test/", CAPTURE.began_at)
    content = packed(
        records.warcinfo_record(
            identity,
            at=CAPTURE.began_at,
            file_name="f.warc.gz",
            facts={"software": "x", "isPartOf": "ü"},
        ),
        records.response_record(identity, CAPTURE, head, payload),
        records.request_record(
            identity, CAPTURE, b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", answer=identity
        ),
        records.revisit_record(
            identity, CAPTURE, head, profile=IDENTICAL, digest=payload.digest, original=original
        ),
        records.metadata_record(identity, CAPTURE, answer=identity, outlinks=["http://b.test/"]),
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


@pytest.mark.parametrize(
    ("at", "date"),
    [
        (CAPTURE.began_at, "2026-01-02T03:04:05.000678Z"),
        (datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=2))), "2025-12-31T22:00:00.000000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_dates_are_utc_and_to_the_microsecond(at, date):
    capture = Capture("http://a.test/", at, 0.25, "", None)
    content = gzip.decompress(
        packed(records.metadata_record("<x>", capture, answer="<y>", outlinks=[]))
    )

    assert f"WARC-Date: {date}\r\n".encode() in content


PLACES = (0, 1, 2**40)


@pytest.mark.parametrize("make", [new_namespace, uuid4])
def test_ids_are_uuids_that_differ_by_file_and_place_and_are_the_same_each_time(make):
    files = [make() for _ in range(3)]
    ids = [record_id(file, place) for file in files for place in PLACES]

    assert ids == [record_id(UUID(str(file)), place) for file in files for place in PLACES]
    assert len({UUID(one.removeprefix("<urn:uuid:").removesuffix(">")) for one in ids}) == 9
    assert {len(one) for one in ids} == {len("<urn:uuid:>") + 36}


def test_an_id_of_our_version_is_its_file_s_with_the_place_in_it():
    file = new_namespace()

    assert (file.version, file.variant) == (8, RFC_4122)
    assert record_id(file, 2**40).removesuffix(">")[-12:] == f"{2**40:012x}"
    assert record_id(file, 0) == f"<{file.urn}>"


@pytest.mark.parametrize(
    ("file", "place", "identity"),
    [
        ("8b1c4f6e-2c1e-4f7b-9a35-0d2f6f1f7a11", 0, "df490509-36af-59e9-987d-3b8268c3f0cb"),
        ("8b1c4f6e-2c1e-4f7b-9a35-0d2f6f1f7a11", 123_456, "dbb50f1b-e0f2-54a5-ba44-8cd52180d7b8"),
        ("8b1c4f6e-2c1e-8f7b-9a35-0d2f6f1f7a11", 1, "c100b345-8ac0-56a2-9bd8-2f754abb174a"),
    ],
    ids=["first", "later", "our version without room for places"],
)
def test_records_of_files_that_are_there_keep_their_ids(file, place, identity):
    assert record_id(UUID(file), place) == f"<urn:uuid:{identity}>"


HTTP = b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n"
OF_ALL = {"WARC-Record-ID": "<urn:a>", "WARC-Date": "2026-01-02T03:04:05.000678Z"}
OF_EXCHANGES = {**OF_ALL, "WARC-Target-URI": "http://a.test/ä"}
SERVED = {**OF_EXCHANGES, "WARC-IP-Address": "192.0.2.1"}
HI = "sha1:YIVV7ELYGQTASQUNN5I3FRNPJQF542SC"
ORIGINAL = Original("<urn:o>", "http://o.test/", CAPTURE.began_at)
NOWHERE = Capture("http://a.test/ä", CAPTURE.began_at, 0.0, "", None)


def measured(head: bytes) -> records.Payload:
    return records.measure_payload(head, DocumentStream.of(b"hi"), b"")


def headers_of(record) -> dict[str, str]:
    """Without the digest and length of the block, which the check of digests judges."""
    (found,) = ArchiveIterator(BytesIO(packed(record)), check_digests="raise")
    headers = found.rec_headers.headers
    assert found.rec_headers.protocol == "WARC/1.1"
    assert len(headers) == len(dict(headers))
    return {
        name: value
        for name, value in headers
        if name not in ("WARC-Block-Digest", "Content-Length")
    }


@pytest.mark.parametrize(
    ("make", "fields"),
    [
        (
            lambda payload: records.response_record("<urn:a>", CAPTURE, HTTP, payload),
            {
                **SERVED,
                "WARC-Type": "response",
                "WARC-Payload-Digest": HI,
                "Content-Type": "application/http; msgtype=response",
            },
        ),
        (
            lambda payload: records.response_record(
                "<urn:a>", NOWHERE, HTTP, payload, is_cut_short=True
            ),
            {
                **OF_EXCHANGES,
                "WARC-Type": "response",
                "WARC-Payload-Digest": HI,
                "WARC-Truncated": "unspecified",
                "Content-Type": "application/http; msgtype=response",
            },
        ),
        (
            lambda _: records.resource_record("<urn:a>", CAPTURE, "text/x; a=b", measured(b"")),
            {
                **SERVED,
                "WARC-Type": "resource",
                "WARC-Payload-Digest": HI,
                "Content-Type": "text/x; a=b",
            },
        ),
        (
            lambda payload: records.revisit_record(
                "<urn:a>", CAPTURE, HTTP, profile=IDENTICAL, digest=HI, original=ORIGINAL
            ),
            {
                **SERVED,
                "WARC-Type": "revisit",
                "WARC-Profile": IDENTICAL,
                "WARC-Payload-Digest": HI,
                "WARC-Refers-To": "<urn:o>",
                "WARC-Refers-To-Target-URI": "http://o.test/",
                "WARC-Refers-To-Date": "2026-01-02T03:04:05.000678Z",
                "Content-Type": "application/http; msgtype=response",
            },
        ),
        (
            lambda payload: records.revisit_record(
                "<urn:a>", NOWHERE, HTTP, profile=NOT_MODIFIED, digest=None, original=None
            ),
            {
                **OF_EXCHANGES,
                "WARC-Type": "revisit",
                "WARC-Profile": NOT_MODIFIED,
                "Content-Type": "application/http; msgtype=response",
            },
        ),
        (
            lambda payload: records.request_record(
                "<urn:a>", CAPTURE, b"GET / HTTP/1.1\r\n\r\n", answer="<urn:b>"
            ),
            {
                **SERVED,
                "WARC-Type": "request",
                "WARC-Concurrent-To": "<urn:b>",
                "Content-Type": "application/http; msgtype=request",
            },
        ),
        (
            lambda payload: records.metadata_record(
                "<urn:a>", CAPTURE, answer="<urn:b>", outlinks=()
            ),
            {
                **OF_EXCHANGES,
                "WARC-Type": "metadata",
                "WARC-Concurrent-To": "<urn:b>",
                "Content-Type": "application/warc-fields",
            },
        ),
        (
            lambda payload: records.warcinfo_record(
                "<urn:a>", at=CAPTURE.began_at, file_name="f.warc.gz", facts={}
            ),
            {
                **OF_ALL,
                "WARC-Type": "warcinfo",
                "WARC-Filename": "f.warc.gz",
                "Content-Type": "application/warc-fields",
            },
        ),
    ],
    ids=[
        *("response", "cut short", "resource", "revisit", "not modified", "request", "metadata"),
        "warcinfo",
    ],
)
def test_each_kind_of_record_has_the_named_fields_of_warc_1_1_and_each_once(make, fields):
    assert headers_of(make(measured(HTTP))) == fields


@pytest.mark.parametrize(
    ("capture", "outlinks", "block"),
    [
        (CAPTURE, (), "fetchTimeMs: 250\r\nlinksFromSeed: 3\r\n"),
        (NOWHERE, iter(["http://b.test/"]), "fetchTimeMs: 0\r\noutlink: http://b.test/\r\n"),
        (
            NOWHERE,
            ["http://b.test/ö", "http://c.test/"],
            "fetchTimeMs: 0\r\noutlink: http://b.test/ö\r\noutlink: http://c.test/\r\n",
        ),
    ],
)
def test_the_metadata_of_a_fetch_have_a_line_for_each_fact_and_link(capture, outlinks, block):
    record = records.metadata_record("<urn:a>", capture, answer="<urn:b>", outlinks=outlinks)

    assert record.start.decode() == block


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
    assert decoded_payload(payload, coding) == b"hi"
