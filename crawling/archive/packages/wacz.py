"""Put runs and single pages together as a WACZ file (version 1.1.1): WARC files, index, lists of
pages, and hashes of all of them.

Each byte of the archive is read once, for the hashes, and only a piece is in memory at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain
from typing import IO, Any, cast
from uuid import uuid4
from zipfile import ZipFile, ZipInfo

from django.db.models import F, QuerySet

from crawling.archive.packages.layout import Layout, LayoutWriter, pending_withdrawals
from crawling.archive.packages.page_file_records import page_file_records
from crawling.archive.packages.reading import replacing_bytes
from crawling.archive.packages.wacz_index import (
    BEGINNING,
    INDEX_NAME,
    SortedLines,
    compressed_blocks,
    header_at,
    header_of,
    index_line,
)
from crawling.archive.reader import (
    CommittedBytes,
    open_file_from,
    originals_of,
    packed_record,
    pieces,
    request_facts,
)
from crawling.archive.records import gzip_member, warcinfo_record
from crawling.archive.rewriting import joined_ranges, ranges_of
from crawling.archive.selection import (
    FOREIGN,
    exchange_of,
    foreign_payloads,
    local_files,
    runs_with,
)
from crawling.base.errors import ArchiveTrouble
from crawling.models import ArchiveFile, FurtherRecord, Page, Run, RunRendering, WithdrawalFile

VERSION = "1.1.1"
#: the most separate records of withdrawn pages in a file; a file with more is given out only after
#: it is rewritten
MOST_GAPS = 10_000
PAYLOADS, SINGLES = "payloads-of-other-runs.warc.gz", "single-pages.warc.gz"
OF_SINGLES = "single pages, and the records that have their payloads"
PAGES, MORE_PAGES = "pages/pages.jsonl", "pages/extraPages.jsonl"
HTML = ("text/html", "application/xhtml+xml")
COLUMNS = ("url__url", "url__depth", "status", "content_type", "title", "archive_offset")
#: the place of a piece: the source and the offset in it, as in a segment
Place = tuple[int, int]
#: a page of which a copy is packed, and whether it is listed or only provides a payload
Copied = tuple[Page, bool]


class _Lists:
    """The lists of a package: the index of its records, and its pages, with seeds apart."""

    def __init__(self) -> None:
        self.index, self.seeds, self.others = SortedLines(), SortedLines(), SortedLines()

    def add_page(self, url: str, date: str, title: str, *, is_seed: bool) -> None:
        listed = {"url": url, "ts": date, "title": title, "id": uuid4().hex}
        kept = self.seeds if is_seed else self.others
        kept.add(json.dumps(listed, ensure_ascii=False) + "\n")

    def close(self) -> None:
        for one in (self.index, self.seeds, self.others):
            one.close()


@dataclass
class WaczPackage:
    """A WACZ file that is being made. `pieces` returns the bytes to be stored; once all are taken,
    the other fields are known.
    """

    title: str
    at: datetime
    #: runs that are packed as a whole
    runs: Sequence[Run]
    #: single pages, with their URLs, runs and archive files; pages of `runs` are left out
    singles: Sequence[Page] = ()
    about: str = ""
    layout: Layout = field(default_factory=Layout)
    pages: int = 0
    size: int = 0
    _out: LayoutWriter = field(default_factory=LayoutWriter)
    _resources: list[dict[str, Any]] = field(default_factory=list)

    def pieces(self) -> Iterator[bytes]:
        """Raises ArchiveTrouble."""
        with closing(self._out):
            yield from self._write_pieces()
        self.layout.segments, self.size = self._out.segments, self._out.size

    def _write_pieces(self) -> Iterator[bytes]:
        files = [file for run in self.runs for file in local_files(run)]
        foreign, singles = foreign_payloads(*self.runs), self._pages_to_copy()
        self._lay_out(files, foreign, singles)
        lists = _Lists()
        archive = ZipFile(cast(IO[bytes], self._out), "w")
        with closing(lists):
            for file in files:
                content, size = _content_of_file(file, self.at), file.committed_length
                yield from self._add_file(archive, f"archive/{file.name}", content, size)
                self._index(file, lists)
                _index_further(file, lists.index)
                if RunRendering.objects.filter(run=file.run_id).exists():
                    _index_page_files(file, lists.index)
            payloads = ((page, False) for page in foreign.iterator())
            yield from self._add_copies(archive, PAYLOADS, FOREIGN, payloads, lists)
            yield from self._add_copies(archive, SINGLES, OF_SINGLES, _still_there(singles), lists)
            yield from self._add_index(archive, lists.index)
            yield from self._add_pages(archive, lists)
            yield from self._add_description(archive)
        archive.close()
        yield from self._out.taken()

    def _lay_out(
        self, files: Sequence[ArchiveFile], foreign: QuerySet[Page], singles: Sequence[Copied]
    ) -> None:
        """Note the archive's files on which the package depends, so that later withdrawals make it
        invalid.
        """
        owners = ArchiveFile.objects.filter(pk__in=foreign.order_by().values("archive_file"))
        copied = (page.archive_file for page, _ in singles if page.archive_file)
        concerned = {row.pk: row for row in chain(files, owners, copied)}
        self.layout.runs = sorted(
            {run.pk for run in self.runs} | {one.run_id for one, _ in singles}
        )
        self.layout.payload_runs = runs_with(foreign)
        self.layout.files = {str(pk): row.name for pk, row in concerned.items()}
        self.layout.lengths = {str(row.pk): row.committed_length for row in files}
        self.layout.withdrawals = pending_withdrawals(concerned)

    def _pages_to_copy(self) -> list[Copied]:
        """The single pages, each after the page whose record has its payload, unless that page
        belongs to a deleted run.
        """
        runs, places = {run.pk for run in self.runs}, set()
        wanted = {page.pk: page for page in self.singles if page.run_id not in runs}
        found = list[Copied]()
        for pk, original in originals_of(wanted.values()).items():
            place = original.archive_file_id, original.archive_offset
            # a further record of an import has no page row; its id is that of its URL's page
            comes_itself = original.pk in wanted and not original._state.adding
            is_kept = original.run.removal_asked_at is None
            is_in_whole = comes_itself or original.run_id in runs
            if not is_kept and original.run_id not in self.layout.lacking_runs:
                self.layout.lacking_runs.append(original.run_id)
            if is_kept and not is_in_whole and place not in places:
                places.add(place)
                found.append((original, False))
            found.append((wanted[pk], True))
        return found

    def _add_file(
        self,
        archive: ZipFile,
        path: str,
        content: Iterable[tuple[Place | None, bytes]],
        expected: int = 0,
    ) -> Iterator[bytes]:
        """Add a file. Content with a place stays there; all other bytes are stored.

        expected: its size, if known. Only large files get the ZIP64 header, which players expect at
        both places or at none.
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

    def _index(self, file: ArchiveFile, lists: _Lists) -> None:
        """Index the stored pages of a file. Withdrawn pages have no rows."""
        behind = F("archive_offset") + F("archive_length")
        found = Page.objects.filter(archive_file=file).alias(behind=behind)
        rows = found.filter(behind__lte=file.committed_length).order_by("archive_offset")
        # the only answer may be one to another method than GET
        by_methods = set(_other_methods(file).values_list("archive_offset", flat=True))
        with open_file_from(file) as source:
            for row in rows.values_list(*COLUMNS, "archive_length").iterator(chunk_size=2_000):
                url, depth, status, kind, title, offset, length = row
                line = _line(header_at(source, offset, length), status, kind)
                if offset not in by_methods:
                    facts = line.facts(file.name, offset, length)
                    lists.index.add(index_line(url, line.stamp, facts))
                if status == 200 and kind in HTML:
                    lists.add_page(url, line.date, title, is_seed=not depth)
                self.pages += 1

    def _add_copies(
        self, archive: ZipFile, name: str, about: str, copies: Iterator[Copied], lists: _Lists
    ) -> Iterator[bytes]:
        """Add a file with copies of records, unless there are none."""
        first = next(copies, None)
        if first:
            content = self._write_copies(name, about, chain([first], copies), lists)
            yield from self._add_file(archive, f"archive/{name}", content)

    def _write_copies(
        self, name: str, about: str, copies: Iterable[Copied], lists: _Lists
    ) -> Iterator[tuple[None, bytes]]:
        facts = {"software": "crawlsite", "description": about}
        start = warcinfo_record(f"<urn:uuid:{uuid4()}>", at=self.at, file_name=name, facts=facts)
        offset = 0
        for piece in gzip_member(start):
            yield None, piece
            offset += len(piece)
        for page, is_listed in copies:
            head, begin = b"", offset
            for piece in exchange_of(page) if is_listed else packed_record(page):
                head = head or piece
                yield None, piece
                offset += len(piece)
            line = _line(header_of(head), page.status, page.content_type)
            place = line.facts(name, begin, page.archive_length or 0)
            lists.index.add(index_line(line.url, line.stamp, place))
            if is_listed:
                lists.add_page(page.url.url, line.date, page.title, is_seed=True)
                self.pages += 1

    def _add_index(self, archive: ZipFile, lines: SortedLines) -> Iterator[bytes]:
        listed = [BEGINNING.encode()]

        def content() -> Iterator[tuple[None, bytes]]:
            for block, line in compressed_blocks(lines):
                listed.append(line)
                yield None, block

        yield from self._add_file(archive, f"indexes/{INDEX_NAME}", content())
        yield from self._add_file(archive, "indexes/index.idx", [(None, b"".join(listed))])

    def _add_pages(self, archive: ZipFile, lists: _Lists) -> Iterator[bytes]:
        """Add the lists of pages. A replay program reads the first at once, and the second when a
        user searches pages.
        """
        both = ((PAGES, "pages", lists.seeds), (MORE_PAGES, "extra-pages", lists.others))
        for path, name, lines in both:
            start = {"format": "json-pages-1.0", "id": name, "title": "Pages"}
            first = [(None, f"{json.dumps(start)}\n".encode())]
            yield from self._add_file(archive, path, chain(first, ((None, line) for line in lines)))

    def _add_description(self, archive: ZipFile) -> Iterator[bytes]:
        said = {
            "profile": "data-package",
            "resources": self._resources,
            "title": self.title,
            **({"description": self.about} if self.about else {}),
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
        yield from self._add_file(archive, "datapackage.json", [(None, description)])
        digest = json.dumps(hashed, indent=2).encode()
        yield from self._add_file(archive, "datapackage-digest.json", [(None, digest)])


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


def _still_there(copies: Sequence[Copied]) -> Iterator[Copied]:
    """The copies, except those of pages that were withdrawn since the copies were read."""
    rows = [page.pk for page, _ in copies]
    left = set(Page.objects.filter(pk__in=rows).values_list("pk", flat=True))
    return (one for one in copies if one[0].pk in left)


def _other_methods(file: ArchiveFile) -> QuerySet[FurtherRecord]:
    """The answers in the file to methods other than GET."""
    return file.further_records.exclude(method="")


def _index_further(file: ArchiveFile, lines: SortedLines) -> None:
    """Index further records of an import for the URLs of pages."""
    rows = file.further_records.order_by("archive_offset").values_list(
        FurtherRecord.addresses(),
        "status",
        "content_type",
        "archive_offset",
        "archive_length",
        "method",
        "body",
    )
    with open_file_from(file) as source:
        for url, status, kind, offset, length, method, body in rows.iterator(chunk_size=2_000):
            line = _line(header_at(source, offset, length), status, kind)
            facts = line.facts(file.name, offset, length) | request_facts(method, body)
            lines.add(index_line(url, line.stamp, facts))


def _index_page_files(file: ArchiveFile, lines: SortedLines) -> None:
    """Index what rendered pages have loaded, and what the browser made of them."""
    listed = {
        *Page.objects.filter(archive_file=file).values_list("archive_offset", flat=True),
        *file.further_records.values_list("archive_offset", flat=True),
    }
    for one in page_file_records(file, listed, _withdrawn_ranges(file)):
        line = _line(one.header, one.status, one.content_type)
        lines.add(index_line(line.url, line.stamp, line.facts(file.name, one.offset, one.length)))


def _line(header: Mapping[str, str], status: int, content_type: str) -> _Line:
    is_revisit = header.get("warc-type") == "revisit"
    return _Line(
        header.get("warc-target-uri", ""),
        header.get("warc-date", ""),
        header.get("warc-payload-digest", ""),
        "warc/revisit" if is_revisit else content_type or "unk",
        str(status),
    )


def _content_of_file(file: ArchiveFile, at: datetime) -> Iterator[tuple[Place, bytes]]:
    """The committed bytes of a file with their places. Fillers replace the records of withdrawn
    pages. Raises ArchiveTrouble.
    """
    done = 0
    for begin, end in [*_withdrawn_ranges(file), (file.committed_length, None)]:
        yield from _with_places(file.pk, done, _committed_bytes(file, done, begin))
        if end:
            yield from _with_places(-file.pk, begin, replacing_bytes(file, begin, end - begin, at))
            done = end


def _committed_bytes(file: ArchiveFile, begin: int, end: int) -> Iterator[bytes]:
    return pieces(CommittedBytes(open_file_from(file, begin), end - begin))


def _with_places(source: int, offset: int, parts: Iterable[bytes]) -> Iterator[tuple[Place, bytes]]:
    for piece in parts:
        yield (source, offset), piece
        offset += len(piece)


def _withdrawn_ranges(file: ArchiveFile) -> list[tuple[int, int]]:
    pending = WithdrawalFile.objects.filter(file=file, done_at=None).select_related("withdrawal")
    found = [
        part for one in pending for part in ranges_of(file, one.length, one.withdrawal.rule.covers)
    ]
    ranges = joined_ranges(found)
    if len(ranges) > MOST_GAPS:
        raise ArchiveTrouble(
            f"{file.name} has {len(ranges):,} records of pages that were taken down; it is "
            "given out once it is rewritten."
        )
    return ranges
