"""The work of the job that reads a run's pages again by other rules."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from django.db import transaction

from crawling.base.errors import ArchiveTrouble
from crawling.datasets.stored_documents import extract_from_page, html_pages
from crawling.frontier.record.page_rows import replace_extracted
from crawling.jobs.kinds import JobResult
from crawling.jobs.running_job import JobGone, RunningJob
from crawling.models import Page, Run

logger = logging.getLogger(__name__)

#: the pages whose rows are replaced in one transaction
SLICE = 20


def extract_again(job: RunningJob) -> JobResult:
    """Do the work of the job. Its bookmark is the id of the last page that was read. Raises
    JobGone.
    """
    if not job.progress:
        job.note(done=0, of=html_pages(job.run).count(), pages=0, unreadable=0, rows=0)
    while pages := _next_pages(job):
        _replace_rows(job, pages)
        if not job.goes_on():
            return None
    return {}


def _next_pages(job: RunningJob) -> list[Page]:
    following = html_pages(job.run).filter(pk__gt=job.row.bookmark or 0)
    return list(following.order_by("pk")[:SLICE])


def _replace_rows(job: RunningJob, pages: Sequence[Page]) -> None:
    """Replace the rows of some pages. Pages that cannot be read keep their rows. Raises JobGone;
    then no row is replaced.
    """
    extracted = _extracted_rows(job.run, pages, job.row.spec["rules"])
    counts, done = job.progress, job.progress_after(len(pages))
    try:
        with transaction.atomic():
            rows = replace_extracted(job.run.pk, extracted)
            job.bookmark(
                pages[-1].pk,
                **done,
                pages=counts["pages"] + len(extracted),
                unreadable=counts["unreadable"] + len(pages) - len(extracted),
                rows=counts["rows"] + rows,
            )
    except Run.DoesNotExist as error:
        raise JobGone from error


def _extracted_rows(
    run: Run, pages: Sequence[Page], rules: Mapping[str, str]
) -> dict[int, list[tuple[str, str]]]:
    """The rows of those pages that can be read, by their ids."""
    found: dict[int, list[tuple[str, str]]] = {}
    for page in pages:
        try:
            found[page.pk] = extract_from_page(run, page, rules)
        except ArchiveTrouble as trouble:
            facts = {"page": page.pk, "why": str(trouble)}
            logger.warning("a page cannot be read again", extra=facts)
    return found
