"""Pack a run as a mirror, a ZIP file with each stored document in a separate file. Or pack all runs
of a crawl, with the newest stored document of each URL.

Only background jobs and commands call this, since it reads foreign documents. Only one rewritten
document, or a piece of another, is in memory. `zipfile` keeps about 400 bytes for each file in
memory until it writes the directory at the end; here these are kept in a file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from itertools import chain
from pathlib import Path
from sqlite3 import OperationalError
from typing import IO, cast
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from crawling.archive.packages.layout import Layout, LayoutWriter, pending_withdrawals
from crawling.archive.selection import foreign_payloads, local_files, runs_with
from crawling.base.errors import ArchiveTrouble
from crawling.datasets.stored_documents import stored_document
from crawling.machine.work_folders import work_folder
from crawling.models import ArchiveFile, Page, Run
from crawling.uses.exports.mirror.file_paths import FilePaths, relative_link
from crawling.uses.exports.mirror.rewriter import PAGES, Rewriter
from crawling.web.statuses import DOCUMENT_STATUSES, is_redirect

#: the fields of a file's entry in the directory, besides its name and date
KEPT = (
    *("compress_type", "flag_bits", "CRC", "compress_size", "file_size", "header_offset"),
    *("create_version", "extract_version", "external_attr"),
)
START = "index.html"
#: the most pages that the start page lists
MOST_NAMED = 1000
#: the number of rows that a query reads
SLICE = 500
#: ZIP files cannot contain earlier dates
FIRST_DATE = datetime(1980, 1, 1, tzinfo=UTC)
MOVED = """<!doctype html><meta charset="utf-8">{refresh}<title>Moved</title>
<p>This page has moved to <a href="{link}">{link}</a>.</p>
"""
REFRESH = '<meta http-equiv="refresh" content="0; url={link}">'


class DirectoryOnDisk(list[ZipInfo]):
    def __init__(self, file: IO[str]) -> None:
        super().__init__()
        self._file, self._count = file, 0

    def append(self, info: ZipInfo) -> None:
        told = [info.filename, info.date_time, [getattr(info, name) for name in KEPT]]
        self._file.write(json.dumps(told) + "\n")
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[ZipInfo]:
        self._file.seek(0)
        for line in self._file:
            name, (year, month, day, hour, minute, second), facts = json.loads(line)
            info = ZipInfo(name, (year, month, day, hour, minute, second))
            for fact, value in zip(KEPT, facts, strict=True):
                setattr(info, fact, value)
            yield info


class _NoNames(dict[str, ZipInfo]):
    """The names in a `ZipFile`, by which it warns of duplicates. Always empty, since a mirror has
    no duplicates.
    """

    def __setitem__(self, name: str, info: ZipInfo) -> None:
        pass


@contextmanager
def zip_file(out: LayoutWriter, directory: Path) -> Iterator[ZipFile]:
    """A ZIP file that is written to `out`. directory: a new file that keeps the entries of its
    files.

    At the end of the block the entries are written to `out`.
    """
    with directory.open("x+") as file:
        archive = ZipFile(cast(IO[bytes], out), "w", ZIP_DEFLATED)
        archive.filelist, archive.NameToInfo = DirectoryOnDisk(file), _NoNames()
        try:
            yield archive
        finally:
            archive.close()


@dataclass
class MirrorPackage:
    """A mirror that is being made. `pieces` returns the bytes to be stored; once all are taken, the
    other fields are known.
    """

    run: Run
    at: datetime
    #: the runs whose pages are in it, the latest first
    runs: Sequence[Run]
    is_of_crawl: bool = False
    layout: Layout = field(default_factory=Layout)
    pages: int = 0
    size: int = 0
    _out: LayoutWriter = field(default_factory=LayoutWriter)
    _named: list[tuple[str, str]] = field(default_factory=list)

    def pieces(self) -> Iterator[bytes]:
        """The bytes to be stored. Raises ArchiveTrouble or OSError."""
        files, owners, lenders = list[ArchiveFile](), list[ArchiveFile](), set[int]()
        for run in self.runs:
            files += local_files(run)
            foreign = foreign_payloads(run).order_by()
            owners += ArchiveFile.objects.filter(pk__in=foreign.values("archive_file"))
            lenders.update(runs_with(foreign))
        concerned = {row.pk: row for row in chain(files, owners)}
        self.layout.runs = [run.pk for run in self.runs]
        self.layout.payload_runs = sorted(lenders - set(self.layout.runs))
        self.layout.files = {str(pk): row.name for pk, row in concerned.items()}
        self.layout.lengths = {str(row.pk): row.committed_length for row in files}
        self.layout.withdrawals = pending_withdrawals(concerned)
        with work_folder() as folder, closing(self._out):
            try:
                yield from self._write_pieces(folder.path)
            except OperationalError as error:
                raise ArchiveTrouble(
                    f"The paths cannot be written in STATE_DIR: {error}."
                ) from error
        self.layout.segments, self.size = self._out.segments, self._out.size

    def _write_pieces(self, folder: Path) -> Iterator[bytes]:
        paths_file = folder / "paths.sqlite"
        paths = FilePaths(paths_file)
        self._name_files(paths)
        paths.close()
        paths = FilePaths(paths_file)
        with zip_file(self._out, folder / "directory") as archive:
            with Rewriter(paths_file) as rewriter:
                for page in _documents(self.runs):
                    yield from self._add_page(archive, page, paths, rewriter)
            if not self.pages:
                raise ArchiveTrouble(f"{self._subject} has no stored document.")
            yield from self._add_file(archive, START, self.at, [self._start_page()])
        yield from self._out.taken()
        paths.close()

    def _name_files(self, paths: FilePaths) -> None:
        paths.reserve(START)
        for page in _documents(self.runs):
            url, moved = page.url.url, _moved_to(page)
            if self.is_of_crawl and paths.page_id_of(url) is not None:
                continue  # a later run has the same URL, too
            kind = PAGES[0] if moved or page.content_type in PAGES else page.content_type
            path = paths.add(url, kind, moved, page=page.pk)
            is_named = page.status in DOCUMENT_STATUSES and kind == PAGES[0] and not page.url.depth
            if is_named and len(self._named) < MOST_NAMED:
                self._named.append((path, page.title or url))

    def _add_page(
        self, archive: ZipFile, page: Page, paths: FilePaths, rewriter: Rewriter
    ) -> Iterator[bytes]:
        """Add a document. A document that is not in this machine's archive is left out and
        counted.
        """
        url = page.url.url
        path = paths.path_of(url)
        if path is None or paths.page_id_of(url) != page.pk:
            return  # the page was stored after the job began, or a later run has the same URL, too
        if moved := _moved_to(page):
            content = _moved_page(paths, moved, url, path)
            yield from self._add_file(archive, path, page.fetched_at, [content])
            return
        try:
            with stored_document(self.run, page) as source:
                body = rewriter.rewrite(
                    source.body,
                    content_type=page.content_type,
                    charset=source.charset,
                    url=url,
                    path=path,
                )
                whole = source.body.pieces() if body is None else [body]
                yield from self._add_file(archive, path, page.fetched_at, whole)
        except ArchiveTrouble:
            self.layout.missing += 1
            return
        self.pages += 1

    def _add_file(
        self, archive: ZipFile, path: str, at: datetime, pieces: Iterable[bytes]
    ) -> Iterator[bytes]:
        info = ZipInfo(path, max(at, FIRST_DATE).timetuple()[:6])
        info.compress_type = ZIP_DEFLATED
        with archive.open(info, "w") as file:
            for piece in pieces:
                file.write(piece)
                yield from self._out.taken()

    @property
    def _subject(self) -> str:
        return "The latest pages" if self.is_of_crawl else f"Run {self.run.number}"

    def _start_page(self) -> bytes:
        name = escape(f"{self.run.crawl.name}, {self._subject[0].lower()}{self._subject[1:]}")
        links = "\n".join(
            f'<li><a href="{escape(relative_link(path, START))}">{escape(title)}</a>'
            for path, title in self._named
        )
        missing = f" {self.layout.missing:,} are missing." if self.layout.missing else ""
        return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{name}</title>
<h1>{name}</h1>
<p>A mirror of {self.at:%Y-%m-%d}: {self.pages:,} documents.{missing}
Links to others lead to the web.</p>
<ul>
{links}
</ul>
""".encode()


def _documents(runs: Iterable[Run]) -> Iterator[Page]:
    """The stored pages of runs, without error pages, run by run in the order of storage."""
    for run in runs:
        after = 0
        found = Page.objects.filter(run=run, status__lt=400)
        found = found.select_related("url", "archive_file", "run").order_by("url")
        while some := list(found.filter(url__gt=after)[:SLICE]):
            yield from some
            after = some[-1].pk


def _moved_to(page: Page) -> str:
    """The target of a page's redirect; empty if it has none."""
    is_moved = is_redirect(page.status) and page.final_url != page.url.url
    return page.final_url if is_moved else ""


def _moved_page(paths: FilePaths, target: str, url: str, path: str) -> bytes:
    """The page that replaces a redirect. It leads browsers on within the mirror, and asks the user
    before it leads to the web.
    """
    link = escape(paths.rewritten_link(target, url, path))
    is_here = paths.redirect_end(target) is not None
    refresh = REFRESH.format(link=link) if is_here else ""
    return MOVED.format(refresh=refresh, link=link).encode()
