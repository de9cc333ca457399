"""The rows of the dataset's parts, from their beginning to their removal.

The transaction that records a page also stores which part will have its links. So after a crash the
pages of an unwritten part are known, and are read again from the archive.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet, Sum
from django.db.models.functions import Now

from crawling.archive.files import this_machine
from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import has_bucket, storage
from crawling.models import LinksPart, Page, Run, Shift

logger = logging.getLogger(__name__)


def new_part(run_id: int, shift_id: int | None) -> LinksPart:
    """An unsaved row of a part. shift_id: the shift that collects its links."""
    return LinksPart(
        run_id=run_id,
        name=f"links{run_id}/{uuid.uuid4().hex}.parquet",
        machine=this_machine(),
        shift=shift_id,
    )


def read_later_from_archive(run_id: int) -> None:
    """Let a background job read all pages of a run that is not fetched here. No shift collects the
    links of such pages, so they are read from the archive.
    """
    new_part(run_id, None).save()


def note_part_collected(part: LinksPart) -> None:
    """Note that a shift has stored its collected links, unless the pages are being read again
    already.
    """
    if not LinksPart.objects.filter(pk=part.pk, run__isnull=False).update(collected_at=Now()):
        storage().delete(part.collected_name)


def note_part_written(part: LinksPart, *, links: int, size: int) -> None:
    """Note that a collected part is written. Safe to repeat."""
    LinksPart.objects.filter(pk=part.pk, written_at=None).update(
        written_at=Now(), links=links, bytes=size
    )
    storage().delete(part.collected_name)


def note_part_rewritten(part: LinksPart, *, name: str, links: int, size: int) -> None:
    """Note that the part is in another file, and let the old file be removed."""
    with transaction.atomic():
        LinksPart.objects.filter(pk=part.pk).update(
            name=name, links=links, bytes=size, read_at=None, indexed_at=None
        )
        LinksPart.objects.create(run=None, name=part.name, machine=part.machine)
    remove_abandoned_parts()


def note_part_lost(part: LinksPart) -> None:
    """Note that the collected links are lost."""
    LinksPart.objects.filter(pk=part.pk, written_at=None).update(collected_at=None)


def drop_all_parts() -> None:
    """Drop all parts, so that all pages are read again from the archive: a back-up does not have
    the files of parts.
    """
    LinksPart.objects.update(collected_at=None, written_at=None, read_at=None, indexed_at=None)


def collected_parts() -> QuerySet[LinksPart]:
    """The parts that shifts have collected, whose files this machine may have, and that no job has
    written yet.
    """
    return parts_here().filter(written_at=None, collected_at__isnull=False, run__isnull=False)


def parts_here() -> QuerySet[LinksPart]:
    """The parts whose files this machine may have: with a bucket all parts."""
    found = LinksPart.objects.select_related("run").order_by("pk")
    return found if has_bucket() else found.filter(machine=this_machine())


def lost_parts() -> QuerySet[LinksPart]:
    """The parts that will not be collected any more, because their shifts have ended."""
    alive = Shift.objects.filter(pk=OuterRef("shift"), ended_at=None)
    return LinksPart.objects.filter(
        ~Exists(alive), written_at=None, collected_at=None, run__isnull=False
    )


def forget_lost(run_id: int) -> None:
    """Take the pages of the run's lost parts out of these parts."""
    with transaction.atomic():
        _forget_parts(lost_parts().filter(run=run_id))


def forget_parts(ids: Sequence[int]) -> None:
    """Let the pages of these parts be read again from the archive. To be called in a
    transaction.
    """
    _forget_parts(LinksPart.objects.filter(pk__in=ids))


def _forget_parts(parts: QuerySet[LinksPart]) -> None:
    """Take the pages out of these parts, and let the files of the parts be removed."""
    ids = list(parts.select_for_update(of=("self",)).values_list("pk", flat=True))
    Page.objects.filter(run__links_parts__in=ids, links_part__in=ids).update(links_part=None)
    LinksPart.objects.filter(pk__in=ids).update(run=None)


def drop_dataset(run_id: int) -> None:
    """Drop the dataset of a run, so that all of its pages are read again. Parts that a live shift
    is collecting stay.
    """
    alive = Shift.objects.filter(pk=OuterRef("shift"), ended_at=None)
    with transaction.atomic():
        _forget_parts(LinksPart.objects.filter(~Exists(alive), run=run_id))
    remove_abandoned_parts()


def adopt_parts() -> None:
    """Note that this machine has the files of all parts."""
    LinksPart.objects.update(machine=this_machine())


def remove_abandoned_parts() -> None:
    """Remove the files of deleted runs that are on this machine, then their rows. Parts in the
    search index stay until a background job has removed them from it.

    Safe to repeat.
    """
    for part in LinksPart.objects.filter(run=None):
        folder = part.name.partition("/")[0]
        if part.machine != this_machine() and not storage().list(folder):
            continue  # the file is on another machine
        try:
            storage().delete(part.name)
            storage().delete(part.collected_name)
            for name in part.reading_names:
                storage().delete(name)
            if part.indexed_at:
                continue  # the row stays until its texts are removed from the search index
            part.delete()
            if not parts_here().filter(name__startswith=f"{folder}/").exists():
                storage().delete_folder(folder)  # with files that a killed job left there
        except (OSError, ArchiveTrouble) as error:  # the row stays, so the removal is tried again
            facts = {"file": part.name, "error": str(error)}
            logger.warning("a deleted run's links cannot be removed", extra=facts)


def count_written_links(run: Run) -> int:
    written = LinksPart.objects.filter(run=run, written_at__isnull=False)
    return written.aggregate(links=Sum("links"))["links"] or 0


#: the highest number up to which missing pages are counted, since a count reads each row that it
#: counts
MOST_BEHIND = 10_000
BEHIND = """
SELECT count(*) FROM (
    SELECT FROM crawling_page WHERE run_id = ANY(%(runs)s) AND links_part IS NULL
    UNION ALL
    SELECT FROM crawling_linkspart part JOIN crawling_page page ON page.links_part = part.id
    WHERE part.run_id = ANY(%(runs)s) AND part.{}_at IS NULL
    LIMIT %(most)s
) behind
"""


def count_pages_behind(run: Run, step: str = "written") -> int:
    return count_pages_of_runs_behind([run.pk], step)


def count_pages_of_runs_behind(runs: Sequence[int], step: str) -> int:
    """The number of pages of these runs that a step still has to process. MOST_BEHIND means that
    many or more.

    step: `written` (links), `read` (second reading) or `indexed` (search index).
    """
    with connection.cursor() as cursor:
        cursor.execute(BEHIND.format(step), {"runs": list(runs), "most": MOST_BEHIND})
        return int(cursor.fetchone()[0])
