"""Bytes of the archive that were lost with their machine before they were uploaded."""

from __future__ import annotations

from crawling.archive.files import seal_as_uploaded
from crawling.datasets.parts import forget_parts
from crawling.frontier import locked_run
from crawling.frontier.change.lost_records import forget_lost_records, queue_lost_pages
from crawling.installation.run_log import write
from crawling.models import ArchiveFile, Level
from crawling.models.jobs import ENDED_STATES


def requeue_pages_of_lost_bytes(row: ArchiveFile) -> int:
    """Give up the bytes of a file that are not in the bucket, and queue their pages again. In a run
    that has ended, the pages stay without records. Return the number of pages.
    """
    assert row.run_id is not None
    with locked_run(row.run_id) as run:
        row.refresh_from_db(fields=["parts", "committed_length", "sealed_at"])
        left = row.uploaded_length
        if row.sealed_at:
            return 0
        seal_as_uploaded(row)
        if left >= row.committed_length:
            return 0
        lost = f"{row.committed_length - left:,} bytes of {row.name} were lost on {row.machine}"
        if run.state in ENDED_STATES:
            pages = forget_lost_records(run.pk, row.pk, left)
            write(run.pk, f"{lost}: {pages:,} pages have no record.", level=Level.ERROR)
            return pages
        pages, parts = queue_lost_pages(run.pk, row.pk, left)
        forget_parts(parts)
        write(run.pk, f"{lost}: {pages:,} pages are fetched again.", level=Level.WARNING)
    return pages
