"""The index of a WACZ file, made from the headers of records: sorted CDXJ lines in compressed
blocks, and a list of the blocks (CDXJ and ZipNum, as the tools of Webrecorder read them).
"""

from __future__ import annotations

import gzip
import heapq
import json
import re
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import IO, BinaryIO
from urllib.parse import urlsplit

from crawling.archive.reader import method_query
from crawling.archive.records import END
from crawling.base.errors import ArchiveTrouble

#: the most bytes of lines that are sorted in memory: about 100,000 lines
MOST_IN_MEMORY = 40_000_000
#: the most lines and bytes of a block, which a reader fetches as a whole
BLOCK_LINES, BLOCK_BYTES = 1024, 4 * 1024 * 1024
INDEX_NAME = "index.cdx.gz"
BEGINNING = f'!meta 0 {{"format": "cdxj-gzip-1.0", "filename": "{INDEX_NAME}"}}\n'
#: the bytes of a compressed record that are read for its header; almost all headers are shorter
HEAD_BYTES = 16 * 1024
#: the longest header: one with the longest URL, and with the URL of the record to which a revisit
#: refers
MOST_HEADER = 256 * 1024
WWW = re.compile(r"^(https?://)www\d{0,9}+\.")


def header_at(file: BinaryIO, offset: int, length: int) -> Mapping[str, str]:
    """The fields of the header of the record at a place of a file. Raises ArchiveTrouble."""
    file.seek(offset)
    start = file.read(min(length, HEAD_BYTES))
    fields = _fields_of_record(start)
    if fields is None:
        fields = _fields_of_record(start + file.read(min(length, MOST_HEADER) - len(start)))
    return _required_fields(fields)


def header_of(packed: bytes) -> Mapping[str, str]:
    """The fields of a record's header, by their names in lower case, read from the beginning of its
    gzip member. Raises ArchiveTrouble.
    """
    return _required_fields(_fields_of_record(packed))


def _required_fields(fields: Mapping[str, str] | None) -> Mapping[str, str]:
    if fields is None:
        raise ArchiveTrouble("A record has no header.")
    return fields


def _fields_of_record(packed: bytes) -> Mapping[str, str] | None:
    try:
        start = zlib.decompressobj(31).decompress(packed, MOST_HEADER)
    except zlib.error as error:
        raise ArchiveTrouble(f"A record cannot be unpacked: {error}.") from error
    header, end, _ = start.partition(END)
    if not end:
        return None
    lines = header.decode(errors="replace").split("\r\n")[1:]
    fields = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, _, value in fields}


def search_key(url: str) -> str:
    """The key by which a replay program looks up a URL: `com,example)/path?query`, without `www.`,
    in lower case, with the parameters in order (`getSurt` of warcio.js).
    """
    if not url.startswith(("http:", "https:")):
        return url
    try:
        parts = urlsplit(WWW.sub(r"\1", url.lower(), count=1))
    except ValueError:
        return url
    host, _, port = parts.netloc.rpartition("@")[2].partition("]")
    if port or host.startswith("["):
        turned = f"{host}]{port}"
    else:
        name, colon, port = host.partition(":")
        turned = ",".join(reversed(name.split("."))) + colon + port
    query = "?" + "&".join(sorted(parts.query.split("&"))) if parts.query else ""
    return f"{turned}){parts.path or '/'}{query}"


def index_line(url: str, stamp: str, facts: Mapping[str, str]) -> str:
    """A CDXJ line. stamp: 14 digits. facts: include method and body of the request, if the method
    was not GET.
    """
    said = json.dumps({"url": url, **facts}, ensure_ascii=False)
    asked = method_query(url, facts.get("method", ""), facts.get("requestBody", ""))
    return f"{search_key(url + asked)} {stamp} {said}\n"


class SortedLines:
    """Lines sorted by their bytes. Only a bounded part of them is in memory."""

    def __init__(self, most: int = MOST_IN_MEMORY) -> None:
        self._most = most
        self._lines: list[bytes] = []
        self._size = 0
        self._files: list[IO[bytes]] = []

    def add(self, line: str) -> None:
        self._lines.append(encoded := line.encode())
        self._size += len(encoded)
        if self._size >= self._most:
            file = tempfile.TemporaryFile()  # noqa: SIM115  # `close` closes it
            file.writelines(sorted(self._lines))
            self._lines.clear()
            self._size = 0
            self._files.append(file)

    def __iter__(self) -> Iterator[bytes]:
        for file in self._files:
            file.seek(0)
        yield from heapq.merge(*self._files, sorted(self._lines))

    def close(self) -> None:
        for file in self._files:
            file.close()


def compressed_blocks(lines: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Each compressed block, with its line in the list of blocks."""
    source, offset = iter(lines), 0
    while some := _lines_of_block(source):
        block = gzip.compress(b"".join(some), mtime=0)
        place = {
            "offset": offset,
            "length": len(block),
            "digest": f"sha256:{sha256(block).hexdigest()}",
        }
        offset += len(block)
        begin = some[0].partition(b" {")[0]
        yield block, begin + f" {json.dumps(place)}\n".encode()


def _lines_of_block(source: Iterator[bytes]) -> list[bytes]:
    lines: list[bytes] = []
    size = 0
    for line in source:
        lines.append(line)
        size += len(line)
        if len(lines) >= BLOCK_LINES or size >= BLOCK_BYTES:
            break
    return lines
