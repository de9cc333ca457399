"""Records of files without rows are listed whatever their servers sent as a head."""

import gzip
from io import BytesIO

import pytest

from crawling.archive.packages import page_file_records
from crawling.models import ArchiveFile

RECORD = (
    "WARC/1.1\r\nWARC-Type: {type}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
    "Content-Type: application/http;msgtype={type}\r\nContent-Length: {length}\r\n\r\n"
)


def packed(kind, url, block):
    head = RECORD.format(type=kind, url=url, length=len(block)).encode()
    return gzip.compress(head + block + b"\r\n\r\n")


@pytest.fixture
def listed(monkeypatch):
    def read(*exchanges):
        content = b"".join(
            packed("response", url, answer) + packed("request", url, request)
            for url, request, answer in exchanges
        )
        monkeypatch.setattr(page_file_records, "open_file_from", lambda _file: BytesIO(content))
        file = ArchiveFile(name="x.warc.gz", committed_length=len(content))
        found = page_file_records.page_file_records(file, (), ())
        return [(one.header["warc-target-uri"], one.status, one.content_type) for one in found]

    return read


@pytest.mark.parametrize(
    ("answer", "status"),
    [(b"HTTP/1.1 200 OK\r\nContent-Type: a/b; c\r\n\r\nx", 200), (b"", 0), (b"garbage\r\n\r\n", 0)]
    + [(f"HTTP/1.1 {text}\r\n\r\n".encode(), 0) for text in ("²", "-1", "99999999999", "ab")],
)
def test_a_head_of_any_kind_has_a_status_or_none(listed, answer, status):
    url, request = "http://a.test/", b"GET / HTTP/1.1\r\n\r\n"
    assert listed((url, request, answer)) == [(url, status, "a/b" if status else "")]


def test_an_answer_to_another_method_is_left_out_and_one_of_another_scheme_is_not(listed):
    posted = b"POST / HTTP/1.1\r\n\r\n"
    answer = b"HTTP/1.1 200 OK\r\n\r\n"
    exchanges = [("http://a.test/", posted, answer), ("ftp://a.test/x", b"RETR x", b"hello")]
    assert listed(*exchanges) == [("ftp://a.test/x", 0, "")]
