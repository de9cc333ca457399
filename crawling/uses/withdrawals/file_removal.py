"""Removes the records of withdrawn pages from the files. This is the work of a background job,
which continues after a kill and may run twice. First, other pages with the same payload get it,
file by file. Then the records are removed, file by file, and at last the rows. One job does this
for all due withdrawals, so that the search index is rebuilt only once.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import partial
from itertools import chain

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from crawling.archive.files import seal_all
from crawling.archive.moved_exchanges import MovedExchanges, MovedPage
from crawling.archive.rewriting import ranges_of, rewrite
from crawling.base.errors import ArchiveTrouble, CrawlError
from crawling.base.sessions import session_lock
from crawling.datasets.catch_up import write_collected_parts
from crawling.datasets.withdrawn_links import remove_links
from crawling.frontier.change.withdrawn_pages import set_new_places
from crawling.installation.events import records_removed
from crawling.jobs.kinds import JobEvent
from crawling.jobs.removal import check_jobs, delete_jobs_after_event
from crawling.models import (
    ArchiveFile,
    Page,
    Shift,
    Withdrawal,
    WithdrawalFile,
    WithdrawnPage,
)
from crawling.models.withdrawals import page_at_place
from crawling.uses.withdrawals.withdrawal_runs import take_over_pages

logger = logging.getLogger(__name__)

#: the number of an advisory lock; its holder is the only process that rewrites a file
REWRITING_LOCK = 0x6372_6177_6C03
#: a shift that began before a withdrawal may still refer to payloads of withdrawn pages; the minute
#: allows for a withdrawal that was not committed when that shift began
MARGIN = timedelta(minutes=1)
#: Pages with a revisit record that refers to a record to be removed. In the same run, pages beyond
#: the length that their file had at the withdrawal are left out: they were moved there, and refer
#: to another record.
SHARING = """
SELECT DISTINCT ON (p.url_id) p.url_id, w.id FROM crawling_withdrawnpage w
JOIN crawling_page p ON p.is_revisit AND p.archive_file_id IS NOT NULL
    AND (p.payload_from = w.url_id OR p.payload_from IS NULL AND p.run_id = w.run_id
        AND p.fingerprint = (w.content -> 'page' ->> 'fingerprint')::bigint
        AND p.payload_sha256 = (w.content -> 'page' ->> 'payload_sha256')::bytea
        AND EXISTS (SELECT FROM crawling_withdrawalfile f
            WHERE f.withdrawal_id = w.withdrawal_id AND f.file_id = p.archive_file_id
                AND p.archive_offset < f.length))
WHERE w.withdrawal_id = %s AND w.content -> 'page' ->> 'is_revisit' = 'false'
    AND w.content -> 'page' ->> 'archive_file_id' IS NOT NULL
ORDER BY p.url_id, w.id
"""
#: In imports: the pages and further records that refer to a record to be removed, each with its
#: place and the place of the payload.
SHARING_FURTHER = """
WITH holder AS (
    SELECT w.id, w.run_id, w.withdrawal_id, one FROM crawling_withdrawnpage w
    CROSS JOIN LATERAL jsonb_array_elements(
        coalesce(w.content -> 'further', '[]') || jsonb_build_array(w.content -> 'page')) one
    WHERE w.withdrawal_id = %(withdrawal)s AND one ->> 'is_revisit' = 'false'
        AND one ->> 'archive_file_id' IS NOT NULL
), referring AS (
    SELECT p.run_id, p.archive_file_id, p.archive_offset, p.archive_length, p.payload_sha256,
        p.url_id
    FROM crawling_page p
    WHERE p.run_id IN (SELECT run_id FROM holder) AND p.is_imported AND p.is_revisit
        AND p.payload_from IS NULL AND p.status <> 304
    UNION ALL
    SELECT f.run_id, f.archive_file_id, f.archive_offset, f.archive_length, f.payload_sha256,
        f.url_id
    FROM crawling_furtherrecord f
    WHERE f.run_id IN (SELECT run_id FROM holder) AND f.is_revisit
        AND f.status <> 304
)
SELECT DISTINCT ON (r.archive_file_id, r.archive_offset) r.archive_file_id, r.archive_offset,
    r.archive_length, u.url, holder.one
FROM holder JOIN referring r ON r.run_id = holder.run_id
    AND r.payload_sha256 = (holder.one ->> 'payload_sha256')::bytea
JOIN crawling_url u ON u.id = r.url_id
JOIN crawling_withdrawalfile f ON f.withdrawal_id = holder.withdrawal_id
    AND f.file_id = r.archive_file_id AND r.archive_offset < f.length
ORDER BY r.archive_file_id, r.archive_offset, holder.id
"""


def remove_records(withdrawal_id: int) -> None:
    """Remove the records of all due withdrawals, beginning with this one. If this one is not due,
    or another process works on it, nothing is removed. The reason why a withdrawal has to wait is
    stored in its `trouble`.
    """
    with session_lock("%s", [REWRITING_LOCK], waits=False) as is_alone:
        due = due_withdrawals() if is_alone else []
        if withdrawal_id not in due:
            return
        done: list[Withdrawal] = []
        for pk in sorted(due, key=lambda pk: (pk != withdrawal_id, pk)):
            withdrawal = Withdrawal.objects.select_related("crawl").filter(pk=pk).first()
            if withdrawal is not None and _remove_records(withdrawal):
                done.append(withdrawal)
        try:
            records_removed(partial(_removed_urls, done))
        except (CrawlError, OSError) as error:
            for withdrawal in done:
                _note_trouble(withdrawal, error)
        else:
            for withdrawal in done:
                _finish_withdrawal(withdrawal)


def _remove_records(withdrawal: Withdrawal) -> bool:
    """Remove the records from all files except the search index's. Return whether nothing is left
    for later.
    """
    try:
        _await_shifts(withdrawal)
        Withdrawal.objects.filter(pk=withdrawal.pk, began_at=None).update(began_at=Now())
        take_over_pages(withdrawal)
        _remove_exports(withdrawal)
        _seal_files(withdrawal)
        _keep_payloads(withdrawal)
        _remove_from_files(withdrawal)
        _tell_jobs(withdrawal)
        _remove_links(withdrawal)
    except (ArchiveTrouble, OSError) as error:
        _note_trouble(withdrawal, error)
        return False
    return True


def _note_trouble(withdrawal: Withdrawal, error: Exception) -> None:
    Withdrawal.objects.filter(pk=withdrawal.pk).update(trouble=str(error))
    logger.warning("a withdrawal waits", extra={"id": withdrawal.pk, "why": str(error)})


def due_withdrawals() -> list[int]:
    """The ids of the withdrawals whose records are to be removed."""
    due = Withdrawal.objects.filter(
        finished_at=None, undone_at=None, rewrite_at__lte=timezone.now()
    )
    return list(due.order_by("pk").values_list("pk", flat=True))


def _await_shifts(withdrawal: Withdrawal) -> None:
    crawl = withdrawal.crawl
    whose = Q(process__run__crawl=crawl)
    if crawl.order.reuse.deduplicate == "all":
        whose |= Q(process__run__crawl__reuse__deduplicate="all")
    before = withdrawal.asked_at + MARGIN
    if Shift.objects.filter(whose, ended_at=None, started_at__lt=before).exists():
        raise ArchiveTrouble("A work session that began before may still refer to these pages.")


def _remove_exports(withdrawal: Withdrawal) -> None:
    """Remove the exports with files on this machine, also those that could not be removed at the
    withdrawal.
    """
    if left := check_jobs(JobEvent.WITHDRAWN, withdrawal.crawl_id):
        raise ArchiveTrouble(f"An export cannot be removed: {left[0]}.")


def _tell_jobs(withdrawal: Withdrawal) -> None:
    """Notify the kinds of background jobs that read the old files."""
    runs = set(withdrawal.files.values_list("file__run", flat=True)) - {None}
    delete_jobs_after_event(JobEvent.REWRITTEN, runs)
    if left := check_jobs(JobEvent.REWRITTEN, withdrawal.crawl_id):
        raise ArchiveTrouble(f"An export cannot be removed: {left[0]}.")


def _seal_files(withdrawal: Withdrawal) -> None:
    """Close files of inactive runs that are still open for writing."""
    rows = ArchiveFile.objects.filter(withdrawals__withdrawal=withdrawal, sealed_at=None)
    for run_id in set(rows.values_list("run", flat=True)):
        if run_id:
            seal_all(run_id)


def _keep_payloads(withdrawal: Withdrawal) -> None:
    """Store the payload of a withdrawn page once more, in the files of other pages that have it."""
    for file, moved in _pages_to_move(withdrawal).items():
        _check_sealed(file)
        exchanges = MovedExchanges(file, moved)
        rewrite(file, exchanges.old_ranges(), exchanges, partial(_switch_places, exchanges))


def _switch_places(exchanges: MovedExchanges) -> None:
    """Replace the references to the removed records in the transaction that replaces the file.
    Raises ArchiveTrouble, which leaves the file unchanged, if a page was withdrawn meanwhile.
    """
    if set_new_places(exchanges.row.pk, exchanges.places) < len(exchanges.places):
        raise ArchiveTrouble(f"A page in {exchanges.row.name} was withdrawn at this moment.")


def _pages_to_move(withdrawal: Withdrawal) -> dict[ArchiveFile, list[MovedPage]]:
    with connection.cursor() as cursor:
        cursor.execute(SHARING, [withdrawal.pk])
        found = dict(cursor.fetchall())
    pages = Page.objects.select_related("url", "archive_file").in_bulk(found)
    withdrawn = withdrawal.withdrawn_pages.in_bulk(set(found.values()))
    files: dict[ArchiveFile, list[MovedPage]] = defaultdict(list)
    for page_id, withdrawn_id in found.items():
        if (page := pages.get(page_id)) and page.archive_file:
            moved = MovedPage(page, page.url.url, withdrawn[withdrawn_id].stored)
            files[page.archive_file].append(moved)
    for moved in _pages_that_share_records(withdrawal):
        assert moved.page.archive_file
        if not any(moved.is_of(one.page) for one in files[moved.page.archive_file]):
            files[moved.page.archive_file].append(moved)
    return files


def _pages_that_share_records(withdrawal: Withdrawal) -> list[MovedPage]:
    with connection.cursor() as cursor:
        cursor.execute(SHARING_FURTHER, {"withdrawal": withdrawal.pk})
        found = cursor.fetchall()
    files = ArchiveFile.objects.in_bulk({file for file, *_ in found})
    return [
        MovedPage(
            Page(archive_file=files[file], archive_offset=offset, archive_length=length),
            url,
            page_at_place(json.loads(holder)),
        )
        for file, offset, length, url, holder in found
    ]


def _remove_from_files(withdrawal: Withdrawal) -> None:
    """Remove the records from the files. Raises ArchiveTrouble at the end if some files are on
    another machine.
    """
    elsewhere: list[str] = []
    for one in withdrawal.files.filter(done_at=None).select_related("file").order_by("file"):
        if one.file.run_id is None:
            _note_done(one)  # the run of the file was deleted, so the whole file is removed
        elif one.file.is_here:
            _remove_from_file(withdrawal, one)
        else:
            elsewhere.append(f"{one.file.name} is on {one.file.machine}")
    if elsewhere:
        raise ArchiveTrouble(f"A background worker is needed there: {'; '.join(elsewhere[:5])}.")


def _remove_from_file(withdrawal: Withdrawal, one: WithdrawalFile) -> None:
    """Remove the records from a file. Records beyond the length that the file had at the withdrawal
    belong to pages that were stored later.
    """
    covers = withdrawal.rule.covers
    ranges = ranges_of(one.file, one.length, covers)
    if ranges:
        _check_sealed(one.file)
        rewrite(one.file, ranges, None, partial(_note_done, one))
    else:
        _note_done(one)


def _note_done(one: WithdrawalFile) -> None:
    WithdrawalFile.objects.filter(pk=one.pk).update(done_at=Now())


def _check_sealed(file: ArchiveFile) -> None:
    if file.sealed_at is None:
        raise ArchiveTrouble(
            f"{file.name} is being written; it is rewritten once the file is full, or its run is "
            "paused or has ended."
        )


def _remove_links(withdrawal: Withdrawal) -> None:
    kept = _pages_with_content(withdrawal)
    for run_id in list(kept.order_by().values_list("run", flat=True).distinct()):
        write_collected_parts(run_id)
        rows = kept.filter(run=run_id).values_list("url", "content__page__links_part")
        remove_links(dict(rows))


def _removed_urls(withdrawals: Iterable[Withdrawal]) -> Iterator[int]:
    """The ids of the URLs of the withdrawn pages."""
    return chain.from_iterable(
        _pages_with_content(one).values_list("url", flat=True) for one in withdrawals
    )


def _pages_with_content(withdrawal: Withdrawal) -> QuerySet[WithdrawnPage]:
    """The pages of the withdrawal whose content is still stored."""
    return withdrawal.withdrawn_pages.filter(content__isnull=False)


@transaction.atomic
def _finish_withdrawal(withdrawal: Withdrawal) -> None:
    """Delete the rows of the withdrawn pages. The rows of their URLs stay."""
    withdrawal.withdrawn_pages.update(content=None)
    Withdrawal.objects.filter(pk=withdrawal.pk).update(finished_at=Now(), trouble="")
