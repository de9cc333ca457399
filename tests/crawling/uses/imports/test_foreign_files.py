"""A stranger's fault costs a sentence: a record, the rest of a file, or the file."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import re
import tarfile
import time
from hashlib import sha512
from io import BytesIO
from uuid import uuid4
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from backports import zstd

from crawling.uses.imports import foreign_files, http_blocks
from crawling.uses.imports.foreign_files import ForeignFile, Unreadable
from crawling.uses.imports.http_blocks import read_block
from crawling.uses.imports.moments import read_moment
from crawling.uses.imports.translator import translate
from crawling.web.document_stream import DocumentStream
from tests.crawling.uses.imports.warc_files import answer, wacz, warc

RECORD = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 9999999\r\n\r\n"
GOOD = answer("http://127.0.0.1:8900/")
EMPTY_URL = "http://a.test/empty"
EMPTY = (
    "WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2019-05-06T07:08:09Z\r\n"
    f"WARC-Target-URI: {EMPTY_URL}\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
).encode()


def of_first_file(package, *changes):
    """A ZIP file with other bytes in both headers of its first file, by their place in the first:
    2 is the version, 4 are the flags, 6 is the way of packing."""
    content = bytearray(package)
    for place, value in changes:
        content[place + 2] = content[content.index(b"PK\x01\x02") + place + 4] = value
    return bytes(content)


@pytest.fixture
def read(tmp_path):
    """The URLs that a file has, what is left out, and what is said of its damage. The remarks are
    kept in `read.remarks`.
    """

    def read(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        file, urls, trouble = ForeignFile(path), [], ""
        try:
            for found in file.answers():
                urls.append(found.address.url)
                found.payload.close()
        except Unreadable as error:
            trouble = str(error)
        for found in file.incomplete():
            urls.append(found.address.url)
            found.payload.close()
        read.remarks = file.remarks
        return urls, file.left_out, trouble

    return read


def test_records_that_are_no_pages_are_left_out_and_counted(read):
    other = warc(answer("http://127.0.0.1:8900/5", b"what was sent"), packed=False)
    content = warc(
        answer("dns:127.0.0.1"),
        answer("http:///"),
        answer("http://127.0.0.1:8900/1", **{"WARC-Date": "2999-01-01T00:00:00Z"}),
        answer("http://127.0.0.1:8900/2", **{"WARC-Date": "some day"}),
        answer("http://127.0.0.1:8900/2a", **{"WARC-Date": "31 Dec 9999 23:59:59 -1400"}),
        answer("http://127.0.0.1:8900/2b", **{"WARC-Date": "1 Jan 99999999999999 00:00:00 GMT"}),
        ("conversion", "http://127.0.0.1:8900/3", None, b"text", {}),
        ("metadata", "http://127.0.0.1:8900/3", None, b"via: x", {}),
        ("strange", "http://127.0.0.1:8900/3", None, b"?", {}),
        answer("http://user:secret@a.test/2"),
        answer("<http://user@a.test/3>"),
        answer("http://a.test/@4"),
        answer("http://127.0.0.1:8900/4", head=f"HTTP/1.1 200 OK\r\nX: {'y' * 600_000}"),
        answer("http://127.0.0.1:8900/" + "l" * 1_000_000),
        packed=False,
    )

    other = other.replace(b"was sent", b"was made")
    urls, left_out, trouble = read("a.warc", content + other + EMPTY + warc(GOOD, packed=False))

    bare = [f"http://a.test/{path}" for path in ("2", "3", "@4")]
    there = [
        "dns:127.0.0.1",
        "http://127.0.0.1:8900/1",
        *bare,
        "http://127.0.0.1:8900/5",
        EMPTY_URL,
        GOOD[1],
    ]
    assert (urls, trouble) == (there, "")
    assert left_out == {
        "are of addresses that cannot be crawled": 1,
        "have a URL of more than 65,536 characters": 1,
        "have no date": 3,
        "have a head that is too long": 1,
        "are of the type conversion": 1,
        "are of the type metadata": 1,
        "are of a type that is not known": 1,
    }
    assert read.remarks == {
        "had a user name or a password in their URL, which the copy leaves out": 2,
        "state a time that is still to come": 1,
        "have another block digest than they state": 1,
        "are empty: no head, and no document": 1,
    }


FAR = answer("http://127.0.0.1:8900/far")
WEB = "http://127.0.0.1:8900/"
#: does not get shorter by packing
NOISE = sha512(b"1").digest() * 9 + b"".join(sha512(bytes([n])).digest() for n in range(250))


def spoilt(packed, at):
    return packed[:at] + bytes(20) + packed[at + 20 :]


@pytest.mark.parametrize(
    ("content", "found", "told"),
    [
        (warc(GOOD) + warc(answer(f"{WEB}b", NOISE))[:-900], [GOOD[1], f"{WEB}b"], "is cut off"),
        (
            warc(GOOD, packed=False) + warc(answer(f"{WEB}b", NOISE), packed=False)[:-900],
            [GOOD[1], f"{WEB}b"],
            "is cut off",
        ),
        (
            warc(GOOD) + spoilt(warc(answer(f"{WEB}b", NOISE)), 2000) + warc(FAR),
            [GOOD[1], FAR[1]],
            "cannot be unpacked",
        ),
        (warc(GOOD) + b"noise\x1f\x8b\x08 and more" + warc(FAR), [GOOD[1], FAR[1]], "no member"),
        (warc(GOOD) + bytes(512) + warc(FAR) + bytes(99), [GOOD[1], FAR[1]], ""),
        (
            warc(GOOD, packed=False) + b"\0\1 no record\r\n" * 9 + warc(FAR, packed=False),
            [GOOD[1], FAR[1]],
            "is no record",
        ),
        (
            warc(GOOD, packed=False) + b"noise" + warc(FAR, packed=False),
            [GOOD[1], FAR[1]],
            "5 bytes are no part of a record",
        ),
        (
            warc(GOOD, packed=False)[:-6] + warc(FAR, packed=False),
            [GOOD[1], FAR[1]],
            "is shorter than it states",
        ),
        (
            warc(GOOD, packed=False).replace(b"Length: ", b"Length: 9", 1)
            + warc(FAR, packed=False),
            [GOOD[1], FAR[1]],
            "is shorter than it states",
        ),
        (
            warc(GOOD, packed=False).replace(b"Content-Length", b"Content-Width")
            + warc(FAR, packed=False),
            [FAR[1]],
            "does not state its length",
        ),
    ],
)  # fmt: skip
def test_damage_costs_what_is_damaged_and_is_told_with_its_place(read, content, found, told):
    urls, left_out, trouble = read("a.warc.gz", content)

    assert (urls, trouble) == (found, "")
    places = [why for why in left_out if "damage at byte" in why and "a.warc.gz: " in why]
    assert [told in place for place in places] == ([True] * bool(told))


def test_a_digest_that_does_not_fit_costs_nothing(read):
    revisit = warc(("revisit", f"{WEB}2", "HTTP/1.1 200 OK", b"", {}), packed=False)
    first = re.sub(rb"(Payload-Digest: sha1:)\w+", rb"\1" + b"A" * 32, warc(GOOD, packed=False))
    second = re.sub(rb"(Block-Digest: sha1:)\w+", rb"\1" + b"A" * 32, revisit)

    assert read("a.warc", first + second)[:2] == ([GOOD[1], f"{WEB}2"], {})
    assert read.remarks == {
        "have another block digest than they state": 1,
        "have another payload digest than they state": 1,
    }


HEAD = b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n"
ARC = b"".join(
    (
        b"filedesc://a.arc 0.0.0.0 20010203040506 text/plain 76\n1 0 InternetArchive\n",
        b"URL IP-address Archive-date Content-type Archive-length\n\n",
        b"http://127.0.0.1:8900/a b 10.0.0.1 20010203040506 text/html %d\n" % len(HEAD + b"one"),
        HEAD + b"one\n",
        b"dns:a.test 10.0.0.1 20010203040506 text/dns 3\nabc\n",
        b"http://127.0.0.1:8900/c - 200102030405 text/html; charset=x %d\n" % len(HEAD + b"two"),
        HEAD + b"two\n",
        b"http://127.0.0.1:8900/0.9 10.0.0.1 20010203040506 text/html 8\n<p>bare!\n",
        b"http://127.0.0.1:8900/2 10.0.0.1 20010203040506 text/html 200 - - 9 a.arc %d\n"
        % len(HEAD + b"six"),
        HEAD + b"six\n",
    )
)
PLAIN = warc(GOOD, FAR, packed=False)
DICTIONARY = zstd.train_dict([warc(answer(f"{WEB}{n}"), packed=False) for n in range(200)], 1024)
WEB_OF_ARC = [f"{WEB}a%20b", "dns:a.test", f"{WEB}c", f"{WEB}0.9", f"{WEB}2"]


def frames(dictionary=None, inner=lambda content: content):
    start = b""
    if dictionary:
        content = inner(dictionary.dict_content)
        start = b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content
    records = (warc(one, packed=False) for one in (GOOD, FAR))
    return start + b"".join(zstd.compress(one, zstd_dict=dictionary) for one in records)


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.arc", ARC, WEB_OF_ARC),
        ("a.arc.gz", gzip.compress(ARC), WEB_OF_ARC),
        ("a.arc.gz", b"".join(map(gzip.compress, ARC.splitlines(True))), WEB_OF_ARC),
        ("a.warc", PLAIN + ARC, [GOOD[1], FAR[1], *WEB_OF_ARC]),
        ("a.warc.gz", gzip.compress(PLAIN), [GOOD[1], FAR[1]]),
        ("a.warc", gzip.compress(PLAIN), [GOOD[1], FAR[1]]),
        ("a.warc.gz", PLAIN, [GOOD[1], FAR[1]]),
        ("A.WARC.ZST", zstd.compress(PLAIN), [GOOD[1], FAR[1]]),
        ("a.warc.zst", frames(), [GOOD[1], FAR[1]]),
        ("a.warc.zst", frames(DICTIONARY), [GOOD[1], FAR[1]]),
        ("a.warc.zst", frames(DICTIONARY, zstd.compress), [GOOD[1], FAR[1]]),
        ("a.warc", PLAIN.replace(b"WARC/1.0\r\n", b"WARC/0.17\n"), [GOOD[1], FAR[1]]),
        ("a.warc", PLAIN.replace(b"WARC-Type: ", b"warc-TYPE:\r\n\t"), [GOOD[1], FAR[1]]),
        ("a.WACZ", wacz({"Archive/sub/A.WARC.GZ": warc(GOOD)}), [GOOD[1]]),
        ("m.wacz", wacz({"x.wacz": wacz({"archive/a.warc": PLAIN})}), [GOOD[1], FAR[1]]),
    ],
)  # fmt: skip
def test_every_kind_of_file_is_read_by_what_is_in_it(read, name, content, found):
    assert read(name, content)[::2] == (found, "")


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("HTTP/2 200", 200), ("http/1.1 404 x", 404), ("HTTP 200 Document follows", 200),
        ("HTTP/1.1 200", 200), ("ICY 200 OK", 200), ("HTTP/1.0  301  Moved", 301),
        ("HTTP/1.1 200OK", 200), ("HTTP/0.9 200 OK", 200),
        ("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 206", 206),
        ("HTTP/1.1 101 Switching", 101), ("HTTP/1.1 999 Request denied", 999),
        ("HTTP/1.1 OK", 200), ("HTTP/1.0", 200), ("HTTP/1.1 0 No Content", 500),
        ("HTTP/1.1 000", 500), ("HTTP/1.1 20 x", 500),
    ],
)  # fmt: skip
def test_old_and_odd_status_lines_are_read(line, status):
    block = f"{line}\r\nA: b\r\n\r\nbody".encode()

    answer = read_block(BytesIO(block), len(block), lambda piece: None)

    with answer.payload:
        assert (answer.status, answer.fields["a"], answer.payload.read()) == (status, "b", b"")
        assert DocumentStream(answer.payload, answer.size).read() == b"body"


CHUNKED = "Transfer-Encoding: Chunked"


@pytest.mark.parametrize(
    ("field", "body", "found"),
    [
        (CHUNKED, b"4\r\nbody\r\n0\r\n\r\n", b"body"),
        (CHUNKED, b"2 ;x=y\r\nbo\r\n2\nd\n\r\n0\r\nSum: 1\r\n\r\n", b"bod\n"),
        (CHUNKED, b"<p>taken off before", b"<p>taken off before"),
        (CHUNKED, b"abc\r\n<p>begins like a length", b"abc\r\n<p>begins like a length"),
        (CHUNKED, b"3\r\nbody", b"3\r\nbody"),
        (CHUNKED, b"4\r\nbody\r\nbroken", b"bodybroken"),
        ("Transfer-Encoding: gzip, chunked", b"%x\r\n%b\r\n0\r\n\r\n", b"body"),
        ("Transfer-Encoding: gzip", b"not packed", b"not packed"),
    ],
)
def test_transfer_codings_are_taken_off_as_far_as_they_are_there(field, body, found):
    packed = gzip.compress(b"body")
    body = body.replace(b"%x", b"%x" % len(packed)).replace(b"%b", packed)
    block = f"HTTP/1.1 200 OK\r\n{field}\r\n\r\n".encode() + body

    answer = read_block(BytesIO(block), len(block), lambda piece: None)

    with answer.payload:
        assert DocumentStream(answer.payload, answer.size).read() == found


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2014", "2014-01-01T00:00:00"), ("2014-05", "2014-05-01T00:00:00"),
        ("2014-05-02T10:11Z", "2014-05-02T10:11:00"), ("20140502101112", "2014-05-02T10:11:12"),
        ("2014-05-02T10:11:12.123456789Z", "2014-05-02T10:11:12.123456"),
        ("2014-05-02T10:11:12+02:00", "2014-05-02T08:11:12"),
        ("1989-01-01T00:00:00Z", "1989-01-01T00:00:00"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59"),
        ("2016-12-31T24:00:00Z", "2017-01-01T00:00:00"),
        ("Thu, 01 May 2014 10:11:12 GMT", "2014-05-01T10:11:12"),
    ],
)  # fmt: skip
def test_dates_are_read_at_any_precision(text, at):
    assert read_moment(text).at.replace(tzinfo=None).isoformat() == at


def test_dates_agree_as_far_as_they_are_stated():
    seconds = read_moment("2014-05-02T10:11:12Z")
    assert all(seconds.agrees(read_moment(text)) for text in ("2014", "2014-05-02T10:11:12.999Z"))
    assert not any(seconds.agrees(read_moment(text)) for text in ("2015", "2014-05-02T10:11:13Z"))


@pytest.mark.parametrize(
    ("stated", "kept"),
    [
        ("<urn:uuid:22222222-2222-2222-2222-222222222222>", None), ("urn:x:1", "<urn:x:1>"),
        ("<http://a.test/r?1>", None), ("<URN:UUID:22222222-2222-2222-2222-222222222222>", None),
        ("22222222", "made"), ("<urn:a b>", "made"), ("", "made"), ("<urn:x:\u00e9>", "made"),
    ],
)  # fmt: skip
def test_any_uri_is_an_identity_and_what_has_none_gets_one(tmp_path, stated, kept):
    path = tmp_path / "a.warc"
    path.write_bytes(warc(GOOD, packed=False))
    lines = path.read_bytes().split(b"\r\n")
    given = [f"WARC-Record-ID: {stated}".encode() if b"-ID: " in one else one for one in lines]
    path.write_bytes(b"\r\n".join(given))

    (found,) = ForeignFile(path).answers()

    found.payload.close()
    is_made = found.record_id.startswith("<urn:uuid:") and found.record_id[1:-1] not in stated
    assert is_made if kept == "made" else found.record_id == (kept or stated)


def test_a_header_has_no_break_of_a_line_within_a_value(tmp_path):
    path = tmp_path / "a.warc"
    said = {"Content-Type": "a/b|Forged: c"}
    content = warc(("resource", WEB, None, b"x", said), packed=False)
    path.write_bytes(content.replace(b"|", b"\r"))

    (found,) = ForeignFile(path).answers()

    found.payload.close()
    assert found.content_type == "a/b Forged: c"


def test_parts_of_a_record_are_put_together(read, tmp_path):
    name, whole = "<urn:x:1>", HEAD + b"a text in parts"
    first = ("WARC-Type: response", f"WARC-Record-ID: {name}", f"WARC-Target-URI: {WEB}")
    others = ("WARC-Type: continuation", "WARC-Record-ID: <urn:x:2>")
    origin, length = f"WARC-Segment-Origin-ID: {name}", "WARC-Segment-Total-Length: 9"
    content = b"".join(
        raw(fields, part)
        for fields, part in (
            ((*first, "WARC-Segment-Number: 1"), whole[:50]),
            ((*others, origin, "WARC-Segment-Number: 2"), whole[50:55]),
            ((*others, "WARC-Segment-Origin-ID: <urn:x:9>", "WARC-Segment-Number: 2"), b"?"),
            ((*others, origin, "WARC-Segment-Number: 3", length), whole[55:]),
        )
    )
    path = tmp_path / "a.warc"
    path.write_bytes(content)
    file = ForeignFile(path)

    (found,) = file.answers()

    with found.payload:
        assert DocumentStream(found.payload, found.size).read() == b"a text in parts"
    assert file.left_out == {"are parts of records that are not there": 1}


def test_parts_without_their_others_are_read_or_counted(read):
    """Also two of one identity."""
    said = {"WARC-Record-ID": "<urn:x:1>", "WARC-Segment-Number": "1"}
    begun = [answer(f"{WEB}{n}", b"a text", **said) for n in (1, 2)]
    list_ = ("conversion", f"{WEB}3", None, b"text", {"WARC-Segment-Number": "1"})

    urls, left_out, _ = read("a.warc", warc(*begun, list_, packed=False))

    assert sorted(urls) == [f"{WEB}1", f"{WEB}2"]
    assert left_out == {"are of the type conversion": 1}


FIRST_PART = {"WARC-Record-ID": "<urn:x:1>", "WARC-Segment-Number": "1"}


def test_a_record_in_parts_is_kept_as_far_as_it_is_there_where_its_file_breaks_off(read):
    begun, whole = answer(f"{WEB}1", b"a text", **FIRST_PART), answer(f"{WEB}2")
    noise = of_first_file(wacz({"b.warc": b"x"}), (14, 9))  # another checksum than it states
    content = BytesIO(noise)
    with ZipFile(content, "a") as package:
        package.writestr("a.warc", warc(begun, whole, packed=False))
        package.filelist.reverse()

    urls, _, trouble = read("a.wacz", content.getvalue())

    assert urls == [f"{WEB}2", f"{WEB}1"]
    assert trouble == "a.wacz: Bad CRC-32 for file 'b.warc'"
    assert read.remarks == {"are kept as far as the file has them": 1}


def test_what_waits_where_a_file_unpacks_to_too_much_is_read_or_counted(read, monkeypatch):
    monkeypatch.setattr(foreign_files, "FREE_BYTES", 100_000)
    begun, whole = answer(f"{WEB}1", b"a text", **FIRST_PART), answer(f"{WEB}2")
    asked = ("request", f"{WEB}9", "GET / HTTP/1.1", b"", {})
    content = gzip.compress(warc(begun, whole, asked, packed=False) + b"\n" * 2_000_000)

    urls, left_out, trouble = read("a.warc.gz", content)

    assert urls == [f"{WEB}2"]
    assert left_out == {"are requests without an answer": 1, f"are behind damage: {trouble}": 1}


def test_an_import_whose_last_file_breaks_off_tells_of_records_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign_files, "FREE_BYTES", 100_000)
    begun, whole = answer(f"{WEB}1", b"a text", **FIRST_PART), answer(f"{WEB}2")
    (tmp_path / "archive").mkdir()
    files = [tmp_path / "a.warc", tmp_path / "b.warc.gz"]
    files[0].write_bytes(warc(begun, packed=False))
    files[1].write_bytes(gzip.compress(warc(whole, packed=False) + b"\n" * 2_000_000))

    translate(tmp_path, str(uuid4()), files, lambda read, answers: None)

    summary = json.loads((tmp_path / "summary.jsonl").read_text())
    bomb = "are behind damage: b.warc.gz: it unpacks to more than a hundred times its size"
    assert (summary["pages"], summary["left_out"]) == (1, {bomb: 2})


def test_a_header_of_very_many_lines_takes_no_longer_than_others(read):
    lines = (b" a\r\n" * 400_000, b"a: b\r\n" * 200_000)
    records = [raw((f"WARC-Type: response\r\nX: y\r\n{some.decode()}Z: z",), b"") for some in lines]
    began = time.thread_time()

    read("a.warc", b"".join(records))

    assert time.thread_time() - began < 4


def raw(fields, block):
    """A record with these lines as its header."""
    lines = (
        "WARC/1.1",
        "WARC-Date: 2019-05-06T07:08:09Z",
        *fields,
        f"Content-Length: {len(block)}",
    )
    return "\r\n".join((*lines, "", "")).encode() + block + b"\r\n\r\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("noise.warc.gz", bytes(range(256)) * 9),
        ("noise.warc", b"GET / HTTP/1.1\r\n\r\n"),
        ("noise.wacz", b"PK\x03\x04 no zip"),
        ("cut.wacz", wacz({"archive/a.warc.gz": warc(GOOD)})[:-30]),
        ("locked.wacz", of_first_file(wacz({"archive/a.warc.gz": warc(GOOD)}), (4, 1))),
        ("packed.wacz", of_first_file(wacz({"archive/a.warc.gz": warc(GOOD)}), (6, 99))),
        ("empty.wacz", wacz({"pages/pages.jsonl": b"{}"})),
        ("a.warc.bz2", bz2.compress(warc(GOOD))),
        ("short.warc", b"WARC/1.0\r\nWARC-Type: revisit\r\n\r\n\r\n"),
    ],
)
def test_a_file_that_is_no_archive_is_said_to_be_none(read, name, content):
    urls, _, trouble = read(name, content)

    assert urls == []
    assert trouble.startswith(name)


@pytest.mark.parametrize("start", [b"", RECORD])
def test_a_bomb_is_not_unpacked_to_its_end(read, monkeypatch, start):
    monkeypatch.setattr(foreign_files, "FREE_BYTES", 100_000)
    bomb = gzip.compress(start + bytes(9_999_999))

    for name, content in {
        "bomb.warc.gz": bomb,
        "bomb.wacz": wacz({"archive/a.warc": b"", "archive/b.warc.gz": bomb}),
    }.items():
        urls, _, trouble = read(name, content)
        assert urls == []
        assert trouble.startswith(name)


def test_blank_lines_without_end_are_a_bomb_too(read, monkeypatch):
    monkeypatch.setattr(foreign_files, "FREE_BYTES", 100_000)
    lines = gzip.compress(warc(GOOD, packed=False) + b"\n" * 2_000_000)

    _, _, trouble = read("lines.warc.gz", lines)

    assert "more than a hundred times its size" in trouble


def test_names_in_a_package_are_no_paths_of_files(read, tmp_path):
    package = wacz(
        {
            "archive/../../up.warc.gz": warc(GOOD),
            "/etc/x.warc": warc(answer("http://127.0.0.1:8900/other")),
            "archive/no.txt": b"text",
        }
    )

    urls, _, trouble = read("a.wacz", package)

    assert (urls, trouble) == ([GOOD[1], "http://127.0.0.1:8900/other"], "")
    assert [path.name for path in tmp_path.rglob("*")] == ["a.wacz"]


def test_a_package_in_a_package_is_unpacked_once(read):
    """The package's members stand in it from the last to the first, behind much that is packed
    well.
    """
    inner = BytesIO()
    with ZipFile(inner, "w") as package:
        package.writestr("padding", bytes(20_000_000))
        for number in range(600):
            package.writestr(f"{number}.warc", warc(answer(f"{WEB}{number}"), packed=False))
        package.filelist.reverse()
    outer = BytesIO()
    with ZipFile(outer, "w", ZIP_DEFLATED) as package:
        package.writestr("inner.wacz", inner.getvalue())
    began = time.thread_time()

    urls, _, trouble = read("outer.wacz", outer.getvalue())

    assert (len(urls), trouble) == (600, "")
    assert time.thread_time() - began < 4


def test_a_member_that_is_named_very_often_is_not_read_as_often(read, monkeypatch):
    """Blocks of DEFLATE without content (RFC 1951, section 3.2.4), which unpack to nothing."""
    monkeypatch.setattr(foreign_files, "FREE_BYTES", 100_000)
    nothing, last = bytes.fromhex("000000ffff"), bytes.fromhex("010000ffff")
    out = BytesIO()
    with ZipFile(out, "w") as package:
        package.writestr("a.warc", nothing * 100_000 + last)
        (member,) = package.filelist
        member.compress_type, member.CRC, member.file_size = ZIP_DEFLATED, 0, 1
        package.filelist *= 300

    urls, _, trouble = read("named.wacz", out.getvalue())

    assert urls == []
    assert "more than a hundred times its size" in trouble


def tarred(content):
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w") as package:
        info = tarfile.TarInfo("a.warc.gz")
        info.size = len(content)
        package.addfile(info, BytesIO(content))
    return out.getvalue()


@pytest.mark.parametrize(
    ("packing", "content"),
    [
        ("tar", tarred(warc(GOOD))),
        ("xz", lzma.compress(warc(GOOD))),
        ("7z", b"7z\xbc\xaf\x27\x1c\0\4"),
        ("bzip2", bz2.compress(warc(GOOD))),
    ],
)
def test_a_packing_that_is_not_read_is_named(read, packing, content):
    _, _, trouble = read("a.warc.gz", content)

    assert trouble == f"a.warc.gz: it is packed by {packing}, which is not read"


def test_more_than_a_document_may_have_is_not_unpacked_and_no_less_is_kept(monkeypatch):
    monkeypatch.setattr(http_blocks, "MOST_DOCUMENT_BYTES", 1000)
    packed, chunk = gzip.compress(bytes(2000)), bytes(2000)
    for field, body, kept in [
        ("gzip", packed, packed),
        ("chunked", b"7d0\r\n" + chunk + b"\r\n0\r\n\r\n", chunk),
    ]:
        block = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: {field}\r\n\r\n".encode() + body

        answer = read_block(BytesIO(block), len(block), lambda piece: None)

        with answer.payload:
            assert DocumentStream(answer.payload, answer.size).read() == kept


def test_odd_headers_and_members_are_read_as_what_they_mean(read):
    plain = warc(GOOD, FAR, packed=False)
    odd = re.sub(rb"Content-Length: ", b"Content-Length:  +", plain)
    odd = re.sub(rb"(?m)^(WARC/1\.\d)\r\n", rb"\1\r\r\n", odd)
    members = b"".join(gzip.compress(plain[at : at + 77]) for at in range(0, len(plain), 77))

    for content in (odd, members):
        assert read("a.warc.gz", content) == ([GOOD[1], FAR[1]], {}, "")


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("www.a.test/x", "http://www.a.test/x"),
        ("//a.test", "http://a.test/"),
        ("<a.test:8080/?q>", "http://a.test:8080/?q"),
        ("a.test?q", "http://a.test/?q"),
        ("/x.html", None),
        ("localhost:80/", None),
        ("mailto:a@b.test", None),
        ("javascript:a.test/", None),
    ],
)
def test_a_url_that_leaves_out_its_scheme_is_one_of_http(read, written, url):
    urls, left_out, _ = read("a.warc", warc(answer(written), packed=False))

    assert urls == [url] * bool(url)
    assert left_out == ({} if url else {"are of addresses that cannot be crawled": 1})
