"""WARC files as warcio writes them, and hostile archives."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter


class WriterInMemory(WARCWriter):
    """A writer without files: warcio's own leaves temporary files open, which the garbage collector
    reports in a later test.
    """

    _create_temp_file = staticmethod(BytesIO)


HOME = b"<title>Caf\xc3\xa9</title><a href=/b>b</a>"


def warc(*records, packed=True) -> bytes:
    """A WARC file. records: kind, URL, head or None, content, header fields."""
    out = BytesIO()
    writer = WriterInMemory(out, gzip=packed)
    for kind, url, head, content, fields in records:
        lines = head.split("\r\n") if head else []
        pairs = [tuple(line.split(": ", 1)) for line in lines[1:]]
        first, _, rest = lines[0].partition(" ") if head else ("", "", "")
        said = StatusAndHeaders(rest, pairs, first) if head else None
        fields = {"WARC-Date": "2019-05-06T07:08:09Z", **fields}
        record = writer.create_warc_record(
            url, kind, BytesIO(content), http_headers=said, warc_headers_dict=fields
        )
        writer.write_record(record)
    return out.getvalue()


def answer(url, content=HOME, head="HTTP/1.1 200 OK\r\nContent-Type: text/html", **fields):
    return "response", url, head, content, fields


def wacz(files) -> bytes:
    """A ZIP file."""
    out = BytesIO()
    with ZipFile(out, "w") as package:
        for name, content in files.items():
            package.writestr(name, content)
    return out.getvalue()
