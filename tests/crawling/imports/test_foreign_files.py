"""What strangers wrote costs a sentence: a record, the rest of a file, or the file."""

from __future__ import annotations

import gzip

import pytest

from crawling.imports import foreign_files
from crawling.imports.foreign_files import ForeignFile, Unreadable
from tests.crawling.imports.warc_files import answer, wacz, warc

#: warcio's writer leaves its own temporary files open
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:Unclosed file:ResourceWarning"
)
RECORD = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 9999999\r\n\r\n"
GOOD = answer("http://127.0.0.1:8900/")


def of_first_file(package, *changes):
    """A ZIP file with other bytes in both headers of its first file, by their place in the first:
    2 is the version, 4 are the flags, 6 is the way of packing."""
    content = bytearray(package)
    for place, value in changes:
        content[place + 2] = content[content.index(b"PK\x01\x02") + place + 4] = value
    return bytes(content)


@pytest.fixture
def read(tmp_path):
    """The URLs that a file has, what is left out, and what is said of its damage."""

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
        return urls, file.left_out, trouble

    return read


def test_records_that_are_no_pages_are_left_out_and_counted(read):
    other = warc(answer("http://127.0.0.1:8900/5", b"what was sent"), packed=False)
    content = warc(
        answer("dns:127.0.0.1"),
        answer("http://127.0.0.1:8900/1", **{"WARC-Date": "2999-01-01T00:00:00Z"}),
        answer("http://user:secret@a.test/2"),
        answer("http://127.0.0.1:8900/4", head=f"HTTP/1.1 200 OK\r\nX: {'y' * 600_000}"),
        answer("http://127.0.0.1:8900/" + "l" * 1_000_000),
        packed=False,
    )

    urls, left_out, trouble = read(
        "a.warc", content + other.replace(b"was sent", b"was made") + warc(GOOD, packed=False)
    )

    assert (urls, trouble) == ([GOOD[1]], "")
    assert left_out == {
        "are of addresses that cannot be crawled": 3,
        "have no date": 1,
        "have a head that is too long": 1,
        "do not have the digest that they state": 1,
    }


def test_a_file_that_breaks_off_counts_up_to_there(read):
    cut = warc(answer("http://127.0.0.1:8900/b", b"x" * 5000))[:-20]

    urls, _, _ = read("cut.warc.gz", warc(GOOD) + cut)

    assert urls[0] == GOOD[1]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("noise.warc.gz", bytes(range(256)) * 9),
        ("noise.warc", b"GET / HTTP/1.1\r\n\r\n"),
        ("noise.wacz", b"PK\x03\x04 no zip"),
        ("cut.wacz", wacz({"archive/a.warc.gz": warc(GOOD)})[:-30]),
        ("locked.wacz", of_first_file(wacz({"archive/a.warc.gz": warc(GOOD)}), (4, 1))),
        ("packed.wacz", of_first_file(wacz({"archive/a.warc.gz": warc(GOOD)}), (6, 99))),
        (
            "long.warc",
            warc(GOOD, packed=False).replace(
                b"\r\nContent-Length: ", b"\r\nContent-Length: " + b"9" * 30
            ),
        ),
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

    assert (urls, trouble) == ([GOOD[1]], "")
    assert [path.name for path in tmp_path.rglob("*")] == ["a.wacz"]
