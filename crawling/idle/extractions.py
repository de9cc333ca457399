"""Extract again: a run's stored pages are read for other extraction rules, and their extracted rows
are replaced, page by page, without fetching.

A background job does it with a grant of memory that comes after all others; the scheduler queues it
again until the last page is read.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from allocation.errors import AllocationError
from crawling.errors import ArchiveTrouble, WrongState
from crawling.frontier.record.page_rows import replace_extracted
from crawling.idle.extraction_rows import open_extractions
from crawling.idle.second_readings import MEMORY_MIB
from crawling.jobs.rq_jobs import EXTRACTION
from crawling.jobs.temporary_grant import NoUnits
from crawling.jobs.turns import IdleTurn, idle_turn
from crawling.links.stored_documents import extracted_again, html_pages
from crawling.models import Extraction, Page, Run

logger = logging.getLogger(__name__)

#: pages whose rows are replaced in one transaction
SLICE = 20
#: a job that was killed so often at the same pages is not begun again
MOST_ATTEMPTS = 3
BROKEN_OFF = (
    f"It was broken off {MOST_ATTEMPTS} times at the same pages. The rows of the pages before them "
    "are replaced."
)
DELETED = "The run was deleted."
CANCELLED = "a user has cancelled it"


class ExtractionCancelled(WrongState):
    """A user has cancelled it; the rows of the pages before are replaced."""


def extract_when_idle(extraction_id: int) -> str:
    """What RQ runs; returns what became of it. After a kill it continues where it was."""
    with EXTRACTION.alone(extraction_id) as is_alone:
        rows = open_extractions().select_related("run__crawl")
        extraction = rows.filter(pk=extraction_id).first()
        if not is_alone or extraction is None:
            return "another worker has it, or it is over"
        name, label = f"extraction-{extraction_id}", f"extraction {extraction_id}"
        try:
            with idle_turn(name, label=label, mebibytes=MEMORY_MIB) as turn:
                return _extract(extraction, turn)
        except (NoUnits, AllocationError) as error:
            return str(error)


def extract_now(extraction: Extraction) -> None:
    """The same in this process and without a grant, for a command. Raises WrongState if a
    background job is at it, a user cancels it, or the run was deleted meanwhile.
    """
    with EXTRACTION.alone(extraction.pk) as is_alone:
        if not is_alone:
            raise WrongState("A background job is at it; see the page of extracted rows.")
        try:
            while pages := _pages(extraction):
                _take(extraction, pages)
        except Run.DoesNotExist as error:
            raise WrongState(DELETED) from error
        _end(extraction)


def _extract(extraction: Extraction, turn: IdleTurn) -> str:
    if extraction.attempts >= MOST_ATTEMPTS:
        _end(extraction, trouble=BROKEN_OFF)
        return BROKEN_OFF
    row = Extraction.objects.filter(pk=extraction.pk)
    row.update(attempts=F("attempts") + 1)
    row.filter(began_at=None).update(began_at=Now())
    while pages := _pages(extraction):
        try:
            _take(extraction, pages)
        except Run.DoesNotExist:
            return DELETED
        except ExtractionCancelled:
            return CANCELLED
        if not turn.goes_on():
            return "others wait"
    _end(extraction)
    return "all pages are read"


def _pages(extraction: Extraction) -> list[Page]:
    following = html_pages(extraction.run).filter(pk__gt=extraction.after)
    return list(following.order_by("pk")[:SLICE])


def _take(extraction: Extraction, pages: Sequence[Page]) -> None:
    """Replace the rows of some pages; those that cannot be read keep theirs. Raises
    ExtractionCancelled, and replaces nothing then.
    """
    extracted: dict[int, list[tuple[str, str]]] = {}
    for page in pages:
        try:
            extracted[page.pk] = extracted_again(extraction.run, page, extraction.rules)
        except ArchiveTrouble as trouble:
            facts = {"page": page.pk, "why": str(trouble)}
            logger.warning("a page cannot be read again", extra=facts)
    with transaction.atomic():
        rows = replace_extracted(extraction.run_id, extracted)
        is_wanted = Extraction.objects.filter(pk=extraction.pk, cancelled_at=None).update(
            after=pages[-1].pk,
            attempts=0,
            pages=F("pages") + len(extracted),
            unreadable=F("unreadable") + len(pages) - len(extracted),
            rows=F("rows") + rows,
        )
        if not is_wanted:
            raise ExtractionCancelled
    extraction.after = pages[-1].pk


def _end(extraction: Extraction, *, trouble: str = "") -> None:
    row = Extraction.objects.filter(pk=extraction.pk, ended_at=None)
    row.update(ended_at=Now(), trouble=trouble)
