"""Read a run's stored HTML pages a second time: for the places in them that fragments name, and for
errors of their markup. Beside each part lies a file with what was found on its pages.

To be called by a background job or a command: this parses foreign documents.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from crawling.archive.files import this_machine
from crawling.errors import ArchiveTrouble
from crawling.links.parquet import put_findings
from crawling.links.stored_documents import stored_document
from crawling.models import LinksPart, Page, Run
from crawling.rq_jobs import SECOND_READING
from crawling.storage import storage
from crawling.web.addresses import fingerprint
from crawling.web.documents.html import TYPES
from crawling.web.documents.html_findings import HtmlFindings, find_in_html

logger = logging.getLogger(__name__)

#: what a row tells: that the page was read, a place in it, or an error of its markup
READ, PLACE, ERROR = "read", "place", "error"
#: the page's id and fingerprint, what it tells, text, how many, and the line of the first
FindingRow = tuple[int, int, str, str, int, int]


def unread_parts(run: Run) -> list[LinksPart]:
    """The run's parts of this machine whose pages were not read again yet."""
    parts = LinksPart.objects.filter(run=run, written_at__isnull=False, machine=this_machine())
    return [part for part in parts.order_by("pk") if storage().size(part.findings_name) is None]


def ask_reading(run: Run) -> int:
    """Let a background job do it; returns how many parts wait. Raises RedisError."""
    waiting = len(unread_parts(run))
    if waiting:
        SECOND_READING.enqueue_if_lost(run.pk)
    return waiting


def read_again(run_id: int, *, note: Callable[[int], None] = lambda pages: None) -> None:
    """Read the pages of all parts that need it. After a kill it continues where it was.

    note: is told after each part how many of its pages were read.
    """
    run = Run.all_objects.select_related("crawl").get(pk=run_id)
    for part in unread_parts(run):
        rows = list(_rows_of(run, part))
        put_findings(part.findings_name, rows)
        if not LinksPart.objects.filter(pk=part.pk, run=run, name=part.name).exists():
            # the run was deleted, its pages are to be read, or pages were withdrawn
            storage().delete(part.findings_name)
        note(sum(1 for row in rows if row[2] == READ))


def _rows_of(run: Run, part: LinksPart) -> Iterator[FindingRow]:
    pages = Page.objects.filter(
        links_part=part.pk, status=200, content_type__in=TYPES, bytes__gt=0, unread=""
    )
    for page in pages.select_related("url", "archive_file", "run").iterator(chunk_size=500):
        try:
            with stored_document(run, page) as document:
                found = find_in_html(document)
        except ArchiveTrouble as trouble:
            facts = {"page": page.pk, "why": trouble}
            logger.warning("a page cannot be read again", extra=facts)
        else:
            yield from _of_page(page, found)


def _of_page(page: Page, found: HtmlFindings) -> Iterator[FindingRow]:
    known = page.pk, fingerprint(page.url.url)
    yield *known, READ, page.url.url, 1, 0
    for place in sorted(found.ids):
        yield *known, PLACE, place, 1, 0
    for code, (count, line) in found.errors.items():
        yield *known, ERROR, code, count, line
