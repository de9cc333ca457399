"""Put a run together as a WACZ file (version 1.1.1): WARC files, index, lists of pages, and hashes
of all of them.

Each byte of the archive is read once, for its hashes; in memory is a piece at a time.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from typing import IO, Any, BinaryIO, cast
from uuid import uuid4
from zipfile import ZipFile, ZipInfo

from django.db.models import F, QuerySet

from crawling.archive.packages.layout import Layout, LayoutWriter, pending_withdrawals
from crawling.archive.packages.reading import filled
from crawling.archive.packages.wacz_index import (
    BEGINNING,
    INDEX_NAME,
    SortedLines,
    blocks,
    index_line,
)
from crawling.archive.reader import CommittedBytes, asked_facts, opened, packed_record, pieces
from crawling.archive.records import END, packed, warcinfo
from crawling.archive.rewriting import joined, ranges_of
from crawling.archive.selection import FOREIGN, files_here, foreign_payloads
from crawling.base.errors import ArchiveTrouble
from crawling.models import ArchiveFile, FurtherRecord, Page, Run, WithdrawalFile

#: the bytes of a compressed record that are read for its header: almost all are shorter
HEAD_BYTES = 16 * 1024
#: with the longest of URLs, and that of the record to which a revisit refers
MOST_HEADER = 256 * 1024
VERSION = "1.1.1"
#: a file with more records of withdrawn pages than that, apart from one another, is given out once
#: it is rewritten
MOST_GAPS = 10_000
PAYLOADS = "payloads-of-other-runs.warc.gz"
PAGES, MORE_PAGES = "pages/pages.jsonl", "pages/extraPages.jsonl"
HTML = ("text/html", "application/xhtml+xml")
COLUMNS = ("url__url", "url__depth", "status", "content_type", "title", "archive_offset")
#: where a piece is: source and offset there, as of a segment
Place = tuple[int, int]


def header_at(file: BinaryIO, offset: int, length: int) -> Mapping[str, str]:
    """The fields of the header of the record at a place of a file. Raises ArchiveTrouble."""
    file.seek(offset)
    start = file.read(min(length, HEAD_BYTES))
    fields = _fields(start)
    if fields is None:
        fields = _fields(start + file.read(min(length, MOST_HEADER) - len(start)))
    return _there(fields)


def header_of(packed: bytes) -> Mapping[str, str]:
    """The fields of a record's header, by their names in lower case, from the beginning of its gzip
    member. Raises ArchiveTrouble.
    """
    return _there(_fields(packed))


def _there(fields: Mapping[str, str] | None) -> Mapping[str, str]:
    if fields is None:
        raise ArchiveTrouble("A record has no header.")
    return fields


def _fields(packed: bytes) -> Mapping[str, str] | None:
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


@dataclass
class WaczPackage:
    """A WACZ file in the making: `pieces` returns what has to be stored; then the rest is known."""

    run: Run
    at: datetime
    layout: Layout = field(default_factory=Layout)
    pages: int = 0
    size: int = 0
    _out: LayoutWriter = field(default_factory=LayoutWriter)
    _resources: list[dict[str, Any]] = field(default_factory=list)

    def pieces(self) -> Iterator[bytes]:
        """Raises ArchiveTrouble."""
        with closing(self._out):
            yield from self._written()
        self.layout.segments, self.size = self._out.segments, self._out.size

    def _written(self) -> Iterator[bytes]:
        files = files_here(self.run)
        foreign = foreign_payloads(self.run)
        owners = ArchiveFile.objects.filter(pk__in=foreign.order_by().values("archive_file"))
        concerned = {row.pk: row for row in chain(files, owners)}
        self.layout.files = {str(pk): row.name for pk, row in concerned.items()}
        self.layout.lengths = {str(row.pk): row.committed_length for row in files}
        self.layout.withdrawals = pending_withdrawals(concerned)
        lines = SortedLines()
        seeds, others = SortedLines(), SortedLines()
        archive = ZipFile(cast(IO[bytes], self._out), "w")
        try:
            for file in files:
                content, size = _archived(file, self.at), file.committed_length
                yield from self._add(archive, f"archive/{file.name}", content, size)
                self._index(file, lines, seeds, others)
                _index_further(file, lines)
            yield from self._add_foreign(archive, foreign.iterator(), lines)
            yield from self._add_index(archive, lines)
            yield from self._add_pages(archive, seeds, others)
            yield from self._add_description(archive)
        finally:
            for one in (lines, seeds, others):
                one.close()
        archive.close()
        yield from self._out.taken()

    def _add(
        self,
        archive: ZipFile,
        path: str,
        content: Iterable[tuple[Place | None, bytes]],
        expected: int = 0,
    ) -> Iterator[bytes]:
        """Add a file. A record that has a place has its bytes there; all else is to be stored.

        expected: its size, if that is known. Only large ones have the header of ZIP64: players
        take it for granted that a file has it at both places or at none.
        """
        digest, size = sha256(), 0
        info = ZipInfo(path, self.at.timetuple()[:6])
        info.file_size = expected
        with archive.open(info, "w") as file:
            for place, piece in content:
                if place:
                    self._out.at(*place)
                file.write(piece)
                digest.update(piece)
                size += len(piece)
                yield from self._out.taken()
        self._resources.append(
            {
                "name": path.rpartition("/")[2].lower(),
                "path": path,
                "hash": f"sha256:{digest.hexdigest()}",
                "bytes": size,
            }
        )

    def _index(
        self, file: ArchiveFile, lines: SortedLines, seeds: SortedLines, others: SortedLines
    ) -> None:
        """Note the stored pages of a file: those that are withdrawn have no rows."""
        behind = F("archive_offset") + F("archive_length")
        found = Page.objects.filter(archive_file=file).alias(behind=behind)
        rows = found.filter(behind__lte=file.committed_length).order_by("archive_offset")
        # the answer to another method than GET may be the only one
        by_methods = set(_asked(file).values_list("archive_offset", flat=True))
        with opened(file) as source:
            for row in rows.values_list(*COLUMNS, "archive_length").iterator(chunk_size=2_000):
                url, depth, status, kind, title, offset, length = row
                line = _line(header_at(source, offset, length), status, kind)
                if offset not in by_methods:
                    lines.add(index_line(url, line.stamp, line.facts(file.name, offset, length)))
                if status == 200 and kind in HTML:
                    listed = {"url": url, "ts": line.date, "title": title, "id": uuid4().hex}
                    kept = seeds if not depth else others
                    kept.add(json.dumps(listed, ensure_ascii=False) + "\n")
                self.pages += 1

    def _add_foreign(
        self, archive: ZipFile, foreign: Iterator[Page], lines: SortedLines
    ) -> Iterator[bytes]:
        """Copies of the records that have payloads of this run in archives of others."""
        first = next(foreign, None)
        if first:
            content = self._foreign(chain([first], foreign), lines)
            yield from self._add(archive, f"archive/{PAYLOADS}", content)

    def _foreign(
        self, foreign: Iterable[Page], lines: SortedLines
    ) -> Iterator[tuple[Place | None, bytes]]:
        facts = {"software": "crawlsite", "description": FOREIGN}
        about = warcinfo(f"<urn:uuid:{uuid4()}>", at=self.at, file_name=PAYLOADS, facts=facts)
        start = b"".join(packed(about))
        yield None, start
        offset = len(start)
        for page in foreign:
            head = b""
            for piece in packed_record(page):
                head = head or piece
                yield None, piece
            line = _line(header_of(head), page.status, page.content_type)
            length = page.archive_length or 0
            lines.add(index_line(line.url, line.stamp, line.facts(PAYLOADS, offset, length)))
            offset += length

    def _add_index(self, archive: ZipFile, lines: SortedLines) -> Iterator[bytes]:
        listed = [BEGINNING.encode()]

        def content() -> Iterator[tuple[None, bytes]]:
            for block, line in blocks(lines):
                listed.append(line)
                yield None, block

        yield from self._add(archive, f"indexes/{INDEX_NAME}", content())
        yield from self._add(archive, "indexes/index.idx", [(None, b"".join(listed))])

    def _add_pages(
        self, archive: ZipFile, seeds: SortedLines, others: SortedLines
    ) -> Iterator[bytes]:
        """A replay program reads the first list at once, the other when pages are searched."""
        for path, name, lines in ((PAGES, "pages", seeds), (MORE_PAGES, "extra-pages", others)):
            start = {"format": "json-pages-1.0", "id": name, "title": "Pages"}
            first = [(None, f"{json.dumps(start)}\n".encode())]
            yield from self._add(archive, path, chain(first, ((None, line) for line in lines)))

    def _add_description(self, archive: ZipFile) -> Iterator[bytes]:
        said = {
            "profile": "data-package",
            "resources": self._resources,
            "title": f"{self.run.crawl.name}, run {self.run.number}",
            "created": f"{self.at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "wacz_version": VERSION,
            "software": "crawlsite",
        }
        description = json.dumps(said, indent=2, ensure_ascii=False).encode()
        hashed = {
            "path": "datapackage.json",
            "hash": f"sha256:{sha256(description).hexdigest()}",
        }
        self._resources = []
        yield from self._add(archive, "datapackage.json", [(None, description)])
        digest = json.dumps(hashed, indent=2).encode()
        yield from self._add(archive, "datapackage-digest.json", [(None, digest)])


@dataclass(frozen=True)
class _Line:
    url: str
    date: str
    digest: str
    mime: str
    status: str

    @property
    def stamp(self) -> str:
        return "".join(sign for sign in self.date if sign.isdigit())[:14]

    def facts(self, name: str, offset: int, length: int) -> dict[str, str]:
        place = {"offset": str(offset), "length": str(length), "filename": name}
        said = {"mime": self.mime, "status": self.status, "digest": self.digest, **place}
        return {key: value for key, value in said.items() if value}


def _asked(file: ArchiveFile) -> QuerySet[FurtherRecord]:
    """The answers in the file to other methods than GET."""
    return file.further_records.exclude(method="")


def _index_further(file: ArchiveFile, lines: SortedLines) -> None:
    """Note what an import has of URLs beside their pages."""
    rows = file.further_records.order_by("archive_offset").values_list(
        FurtherRecord.addresses(),
        "status",
        "content_type",
        "archive_offset",
        "archive_length",
        "method",
        "body",
    )
    with opened(file) as source:
        for url, status, kind, offset, length, method, body in rows.iterator(chunk_size=2_000):
            line = _line(header_at(source, offset, length), status, kind)
            facts = line.facts(file.name, offset, length) | asked_facts(method, body)
            lines.add(index_line(url, line.stamp, facts))


def _line(header: Mapping[str, str], status: int, content_type: str) -> _Line:
    is_revisit = header.get("warc-type") == "revisit"
    return _Line(
        header.get("warc-target-uri", ""),
        header.get("warc-date", ""),
        header.get("warc-payload-digest", ""),
        "warc/revisit" if is_revisit else content_type or "unk",
        str(status),
    )


def _archived(file: ArchiveFile, at: datetime) -> Iterator[tuple[Place, bytes]]:
    """The committed bytes of a file and where they are, with others in the place of the records of
    withdrawn pages. Raises ArchiveTrouble.
    """
    done = 0
    for begin, end in [*_withdrawn_ranges(file), (file.committed_length, None)]:
        yield from _placed(file.pk, done, _between(file, done, begin))
        if end:
            yield from _placed(-file.pk, begin, filled(file, begin, end - begin, at))
            done = end


def _between(file: ArchiveFile, begin: int, end: int) -> Iterator[bytes]:
    return pieces(CommittedBytes(opened(file, begin), end - begin))


def _placed(source: int, offset: int, parts: Iterable[bytes]) -> Iterator[tuple[Place, bytes]]:
    for piece in parts:
        yield (source, offset), piece
        offset += len(piece)


def _withdrawn_ranges(file: ArchiveFile) -> list[tuple[int, int]]:
    pending = WithdrawalFile.objects.filter(file=file, done_at=None).select_related("withdrawal")
    found = [
        part for one in pending for part in ranges_of(file, one.length, one.withdrawal.rule.covers)
    ]
    ranges = joined(found)
    if len(ranges) > MOST_GAPS:
        raise ArchiveTrouble(
            f"{file.name} has {len(ranges):,} records of pages that were taken down; it is "
            "given out once it is rewritten."
        )
    return ranges
