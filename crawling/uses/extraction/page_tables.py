"""The tables of a stored page. A background job reads them, since the document is foreign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from crawling.base.errors import ArchiveTrouble
from crawling.datasets.stored_documents import stored_document
from crawling.models import Page
from crawling.web.documents.html import TYPES
from crawling.web.documents.table_cells import find_tables
from crawling.web.documents.tree import parse_html


@dataclass(frozen=True)
class StoredTable:
    """A table of a page. Its rows have the same length."""

    #: its place among the tables of the page, counted from 1
    number: int
    caption: str
    rows: list[list[str]]
    #: whether it has more rows or longer texts than were read
    is_cut: bool

    @property
    def columns(self) -> int:
        return len(self.rows[0]) if self.rows else 0


@dataclass(frozen=True)
class PageTables:
    tables: list[StoredTable] = field(default_factory=list)
    #: the number of tables that are left out
    more: int = 0
    #: a sentence if only a part of the document was read, so that later tables are unknown
    unread: str = ""

    def table(self, number: int) -> StoredTable | None:
        return next((one for one in self.tables if one.number == number), None)


def answer_tables(question: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of the job, in the form that `tables_in` reads."""
    stored = Page.objects.select_related("url", "run__crawl", "archive_file")
    page = stored.filter(pk=question["page"]).first()
    if page is None:
        raise ArchiveTrouble("The page was deleted or taken down meanwhile.")
    return asdict(tables_of(page))


def tables_of(page: Page) -> PageTables:
    """Read the tables of a stored page. A page that is not HTML has none. Raises ArchiveTrouble.

    Only background jobs and commands call this.
    """
    if page.content_type not in TYPES:
        return PageTables()
    with stored_document(page.run, page) as source:
        document, _, unread = parse_html(source.body, source.charset)
    found, more = find_tables(document)
    tables = [StoredTable(number, *table) for number, table in enumerate(found, 1)]
    return PageTables(tables, more, unread.sentence if unread else "")
