"""The index of this machine: what is added to it, taken out, and made anew.

One process at a time writes; what it has committed is there after a crash, what it has not is as
if it had never been. A part is added as a whole or not at all, and adding it again is harmless.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import tantivy

from crawling.errors import CrawlError
from crawling.links.parquet import TEXTS, rows_in
from crawling.links.progress import (
    abandoned_parts,
    own_parts,
    part_indexed,
    parts_unindexed,
)
from crawling.models import LinksPart, Run
from crawling.search.schema import field_of, new_schema, with_analyzers
from crawling.storage import storage
from crawling.web.addresses import read_address

#: its folder; an index with other fields gets another name and is made anew
FOLDER = "search-1"
#: of the writer: it holds so much before it writes a segment
HEAP_BYTES = 64 * 1024 * 1024


class IndexBusy(CrawlError):
    """Another process writes the search index; try again in a moment."""


def index_folder() -> Path:
    return storage().workspace(FOLDER)


class IndexWriter:
    """Adds and removes pages; nothing of it can be found, or is safe, before `commit`."""

    def __init__(self, writer: tantivy.IndexWriter, schema: tantivy.Schema) -> None:
        self._writer, self._schema = writer, schema

    def add_part(self, part: LinksPart) -> None:
        """Add the texts of a part's pages; whatever was there of the part or its pages goes.

        Raises OSError.
        """
        assert part.run is not None
        self.remove_parts([part.pk])
        for row in rows_in(part.texts_name, TEXTS):
            self._remove("page", row[0])
            if any(row[TEXTS.index("title") :]):
                self._writer.add_document(_document(part, part.run, row))

    def remove_parts(self, parts: Iterable[int]) -> None:
        for part in parts:
            self._remove("part", part)

    def _remove(self, name: str, number: int) -> None:
        # the writer's own way by a term finds no unsigned number
        wanted = tantivy.Query.term_query(self._schema, name, number)
        self._writer.delete_documents_by_query(wanted)

    def remove_all(self) -> None:
        self._writer.delete_all_documents()

    def commit(self) -> None:
        self._writer.commit()


def _document(part: LinksPart, run: Run, row: Sequence[Any]) -> tantivy.Document:
    facts = dict(zip(TEXTS, row, strict=True))
    language = facts["language"]
    document = tantivy.Document()
    for name, number in (("page", row[0]), ("part", part.pk), ("run", run.pk)):
        document.add_unsigned(name, number)
    document.add_unsigned("crawl", run.crawl_id)
    document.add_text("host", read_address(facts["page"]).host_key)
    document.add_text("type", facts["content_type"])
    document.add_text("month", f"{datetime.fromtimestamp(facts['fetched_at'], UTC):%Y-%m}")
    document.add_text("language", language)
    for name in ("title", "headings", "text", "around"):
        if facts[name]:
            document.add_text(field_of(name, language), facts[name])
    return document


@contextmanager
def writing() -> Iterator[IndexWriter]:
    """Write the index, which is made if there is none. Raises IndexBusy, OSError."""
    folder = index_folder()
    is_new = not tantivy.Index.exists(str(folder))
    index = with_analyzers(tantivy.Index(new_schema(), str(folder)))
    try:
        writer = index.writer(HEAP_BYTES, 1)
    except ValueError as error:
        raise IndexBusy from error
    if is_new:
        parts_unindexed(own_parts())
    try:
        yield IndexWriter(writer, index.schema)
    finally:
        writer.wait_merging_threads()


def add_parts(index: IndexWriter, parts: Iterable[LinksPart]) -> None:
    """Add parts that were read, and say so of each once it can be found."""
    for part in parts:
        index.add_part(part)
        index.commit()
        if not part_indexed(part):
            index.remove_parts([part.pk])
            index.commit()


def forget_abandoned(_first: int) -> None:
    """Take all abandoned parts out of the index: a background job. Safe to repeat."""
    with suppress(IndexBusy), writing() as index:  # the scheduler asks again
        parts = list(abandoned_parts().values_list("pk", flat=True))
        index.remove_parts(parts)
        index.commit()
        parts_unindexed(abandoned_parts().filter(pk__in=parts))


def has_pages(pages: Iterable[int]) -> bool:
    """Whether the index has, or may still have in its files, the text of one of these pages."""
    folder = str(index_folder())
    if not tantivy.Index.exists(folder):
        return False
    searcher = tantivy.Index.open(folder).searcher()
    return any(searcher.doc_freq("page", page) for page in pages)


def rebuild() -> int:
    """Make the index anew from the texts, so that nothing that was taken out is left in its files;
    until that is done the old one is searched. Returns how many parts it has.

    Raises IndexBusy, OSError.
    """
    with writing() as index:
        index.remove_all()
        parts = list(own_parts().filter(read_at__isnull=False, run__isnull=False))
        for part in parts:
            index.add_part(part)
        index.commit()
        for part in parts:
            part_indexed(part)
        parts_unindexed(abandoned_parts())
    return len(parts)
