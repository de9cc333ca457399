"""The index of this machine: adding, removing and rebuilding.

One process at a time writes. After a crash, committed changes are complete; all others are lost. A
part is added completely or not at all, and adding it again is harmless.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import tantivy

from crawling.base.errors import IndexBroken
from crawling.datasets.parquet import TEXTS, rows_in
from crawling.datasets.parts import parts_here
from crawling.datasets.progress import (
    abandoned_parts,
    note_part_indexed,
    note_part_unread,
    note_parts_unindexed,
    unindexed_parts,
)
from crawling.models import LinksPart, Run
from crawling.uses.search.file_checks import faults_as_damage
from crawling.uses.search.folder import index_to_write, open_index
from crawling.uses.search.schema import SHOWN, field_of
from crawling.web.addresses import canonical_address
from crawling.web.content.normal_text import searched_form
from crawling.web.words import separated_words

logger = logging.getLogger(__name__)

#: the memory that the writer fills before it writes a segment to the disk
HEAP_BYTES = 64 * 1024 * 1024


class TextsLost(OSError):
    """The file with a part's texts is missing or damaged."""


class IndexWriter:
    """Adds and removes pages. Changes are neither visible nor safe before `commit`."""

    def __init__(self, writer: tantivy.IndexWriter, schema: tantivy.Schema) -> None:
        self._writer, self._schema = writer, schema

    def add_part(self, part: LinksPart) -> int:
        """Add the texts of a part's pages, and remove earlier texts of the part or of its pages.
        Return the number of pages.

        Raises TextsLost, and OSError of the index.
        """
        assert part.run is not None
        try:
            rows = rows_in(part.texts_name, TEXTS)
        except OSError as error:
            raise TextsLost(str(error)) from error
        self.remove_parts([part.pk])
        for row in rows:
            self._remove("page", row[0])
            if any(row[TEXTS.index("title") :]):
                self._writer.add_document(_document(part, part.run, row))
        return len(rows)

    def remove_parts(self, parts: Iterable[int]) -> None:
        for part in parts:
            self._remove("part", part)

    def _remove(self, name: str, number: int) -> None:
        # a deletion by a term, which the writer itself offers, finds no unsigned number
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
    document.add_text("host", canonical_address(facts["page"]).host_key)
    document.add_text("type", facts["content_type"])
    document.add_text("month", f"{datetime.fromtimestamp(facts['fetched_at'], UTC):%Y-%m}")
    document.add_text("language", language)
    for name in ("title", "headings", "text", "around"):
        if facts[name]:
            document.add_text(field_of(name, language), separated_words(searched_form(facts[name])))
    document.add_bytes(SHOWN, facts["text"].encode())
    return document


@contextmanager
def open_writer() -> Iterator[IndexWriter]:
    """Yield a writer of the index. The index is made anew if it does not exist or its files cannot
    be read.

    Raises IndexBusy, OSError.
    """
    with index_to_write() as index:
        writer = index.writer(HEAP_BYTES, 1)
        try:
            yield IndexWriter(writer, index.schema)
        finally:
            writer.wait_merging_threads()


def repair_index() -> None:
    """Make the index usable if its files cannot be read. Safe to repeat. The scheduler then
    requests jobs that add all texts again. Raises IndexBusy.
    """
    with open_writer():
        pass


def add_parts(index: IndexWriter, parts: Iterable[LinksPart]) -> int:
    """Add parts that were read, and note in the row of each that it can be found. Return the number
    of their pages.
    """
    pages = 0
    for part in parts:
        pages += index.add_part(part)
        index.commit()
        if not note_part_indexed(part):
            index.remove_parts([part.pk])
            index.commit()
    return pages


def index_new_parts(
    goes_on: Callable[[], bool] = lambda: True,
    added: Callable[[int, int], object] = lambda part, pages: None,
) -> bool:
    """Add the parts that were read and are not in the index. Return False if `goes_on` returned
    false before all were added. A part whose texts cannot be read is read again. Safe to repeat.

    added: called with the id of each finished part, and the number of its pages. Raises IndexBusy,
    and OSError of the index.
    """
    with open_writer() as index:
        for part in unindexed_parts():
            if not goes_on():
                return False
            pages = 0
            try:
                pages = add_parts(index, [part])
            except TextsLost as error:
                logger.warning("texts cannot be read", extra={"part": part.pk, "why": str(error)})
                note_part_unread(part)
            added(part.pk, pages)
    return True


def remove_texts_of_abandoned_parts() -> None:
    """Remove all abandoned parts from the index. Safe to repeat. Raises IndexBusy."""
    with open_writer() as index:
        parts = list(abandoned_parts().values_list("pk", flat=True))
        index.remove_parts(parts)
        index.commit()
        note_parts_unindexed(abandoned_parts().filter(pk__in=parts))


def remove_texts(removed: Callable[[], Iterator[int]]) -> None:
    """Make the index anew if it has texts of these pages, by the ids of their URLs. Raises
    IndexBusy or OSError.
    """
    if has_any_page(removed()):
        rebuild_index()


def has_any_page(pages: Iterable[int]) -> bool:
    """Whether the index has the text of one of these pages, or may still have it in its files."""
    try:
        with faults_as_damage():
            if (index := open_index()) is None:
                return False
            searcher = index.searcher()
            return any(searcher.doc_freq("page", page) for page in pages)
    except IndexBroken:
        return True


def rebuild_index() -> int:
    """Make the index anew from the stored texts, so that its files contain no removed texts. Until
    that is done the old index is searched. Return the number of parts.

    Raises IndexBusy, OSError.
    """
    with open_writer() as index:
        index.remove_all()
        parts = list(parts_here().filter(read_at__isnull=False, run__isnull=False))
        for part in parts:
            index.add_part(part)
        index.commit()
        for part in parts:
            note_part_indexed(part)
        note_parts_unindexed(abandoned_parts())
    return len(parts)
