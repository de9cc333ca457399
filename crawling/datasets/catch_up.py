"""Make the dataset's parts, first from the links that shifts have collected, then from stored pages
that are in no part: pages of a lost shift, pages of runs that are older than the dataset, or all
pages. Only background jobs and commands call this, since it parses foreign documents.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from django.db import transaction
from django.utils import timezone

from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import storage
from crawling.datasets.collected_pages import LinkRow, read_pages, rows_of
from crawling.datasets.parquet import put_part
from crawling.datasets.parts import (
    collected_parts,
    forget_lost,
    new_part,
    note_part_lost,
    note_part_written,
)
from crawling.datasets.stored_documents import stored_document, stored_location
from crawling.frontier import PageLinks
from crawling.models import LinksPart, Page, Run
from crawling.web.documents.base import Document
from crawling.web.documents.registry import read_document
from crawling.web.documents.written_links import links_of_answer, with_fragment
from crawling.web.statuses import is_redirect, is_success

logger = logging.getLogger(__name__)

#: the number of pages that are read at a time
SLICE = 1_000
#: the most links of a part; the last page may exceed it
MOST_LINKS = 50_000


def catch_up(run_id: int, *, note: Callable[[int], None] = lambda pages: None) -> None:
    """Write all parts of the run that can be written. After a kill, the next call continues where
    it stopped.

    Pages that are not in this machine's archive stay without a part.

    note: called after each part with its number of pages with links.
    """
    run, after = Run.all_objects.select_related("crawl").get(pk=run_id), 0
    write_collected_parts(run_id, note=note)
    forget_lost(run_id)
    while pages := _pages_without_part(run, after):
        after, taken = _write_part(run, pages)
        note(taken)


def write_collected_parts(run_id: int, *, note: Callable[[int], None] = lambda pages: None) -> None:
    """Write the parts that shifts have collected on this machine. note: as for `catch_up`."""
    for part in collected_parts().filter(run=run_id).order_by("pk"):
        if storage().size(part.collected_name) is None:
            note_part_lost(part)
        else:
            note(_write_collected_part(part))


def _write_collected_part(part: LinksPart) -> int:
    pages = list(read_pages(part.collected_name))
    rows = [row for page_id, page in pages for row in rows_of(page_id, page)]
    size = put_part(part.name, rows) if rows else 0
    note_part_written(part, links=len(rows), size=size)
    return len(pages)


def _pages_without_part(run: Run, after: int) -> Sequence[Page]:
    found = Page.objects.filter(run=run, links_part=None, url__gt=after)
    return list(found.select_related("url", "archive_file", "run").order_by("url")[:SLICE])


def _write_part(run: Run, pages: Sequence[Page]) -> tuple[int, int]:
    """Write a part with the first of these pages, as many as fill one part. Return the id of its
    last page and the number of its pages.
    """
    rows: list[LinkRow] = []
    taken: list[int] = []
    for page in pages:
        try:
            document, redirect = _stored_answer(run, page)
        except ArchiveTrouble as trouble:
            logger.warning("links cannot be read again", extra={"page": page.pk, "why": trouble})
            continue
        written = links_of_answer(document, redirect)
        links = PageLinks(page.url.url, document.base, document.charset, written)
        rows += rows_of(page.pk, links)
        taken.append(page.pk)
        if len(rows) >= MOST_LINKS:
            break
    return page.pk, len(taken) if taken and _store_part(run, rows, taken) else 0


def _store_part(run: Run, rows: Sequence[LinkRow], taken: Sequence[int]) -> bool:
    """Store a part. Return False if another job has already stored one of its pages."""
    part = new_part(run.pk, None)
    part.collected_at = part.written_at = timezone.now()
    part.links = len(rows)
    part.bytes = put_part(part.name, rows) if rows else 0
    with transaction.atomic():
        part.save()
        free = Page.objects.filter(pk__in=taken, links_part=None)
        if free.update(links_part=part.pk) == len(taken):
            return True
        transaction.set_rollback(True)
    storage().delete(part.name)
    return False


def _stored_answer(run: Run, page: Page) -> tuple[Document, str]:
    """The document of a stored page, and the target of its redirect. Raises ArchiveTrouble."""
    redirect = ""
    if is_redirect(page.status) and page.final_url != page.url.url:
        redirect = with_fragment(page.final_url, stored_location(page))
    if not is_success(page.status) or not page.bytes:
        return Document(), redirect
    with stored_document(run, page) as source:
        return read_document(source), redirect
