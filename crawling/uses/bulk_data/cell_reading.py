"""The tables of all pages of a run, read from the archive. This is the work of a background job,
since the documents are foreign.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from crawling.base.errors import ArchiveTrouble
from crawling.datasets.stored_documents import html_pages, stored_tree
from crawling.models import Page, Run
from crawling.uses.bulk_data.bulk_table import Cells
from crawling.web.documents.table_cells import find_tables

logger = logging.getLogger(__name__)

#: the number of rows that a query reads
SLICE = 200


def pages_behind_key(run: Run, after: int) -> Iterator[Page]:
    """HTML pages of the run in the order of their ids. Only a bounded number is in memory at a
    time.
    """
    while some := list(html_pages(run).filter(pk__gt=after).order_by("pk")[:SLICE]):
        yield from some
        after = some[-1].pk


def rows_of_tables(run: Run, page: Page) -> list[Cells] | None:
    """The rows of all tables of a page; None if the page cannot be read."""
    try:
        document = stored_tree(run, page)
    except ArchiveTrouble as trouble:
        logger.warning("a page cannot be read again", extra={"page": page.pk, "why": str(trouble)})
        return None
    return [
        (page.pk, page.url.url, number, table.caption, row, cells, table.is_cut)
        for number, table in enumerate(find_tables(document)[0], 1)
        for row, cells in enumerate(table.rows, 1)
    ]
