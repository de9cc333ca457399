"""The rows of WACZ files: asked for, written by a background job, found, removed."""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import connections, transaction
from django.db.models.functions import Now
from django.utils import timezone

from crawling.archive.files import deletions_held, this_machine
from crawling.archive.selection import files_here
from crawling.errors import ArchiveTrouble
from crawling.models import ArchiveFile, Run, WaczFile
from crawling.rq_jobs import WACZ
from crawling.storage import storage
from crawling.wacz.layout import Layout
from crawling.wacz.packing import WaczPackage, pending_withdrawals

logger = logging.getLogger(__name__)

#: one that was asked for before that is not waited for: its job is over
LONGEST = timedelta(seconds=WACZ.seconds)
KILLED = "The background job did not come to its end; the worker's log says why."


def ask_wacz(run: Run, *, by: User | None = None) -> WaczFile:
    """Let a background job write a run's WACZ file, unless one is about to.

    Raises ArchiveTrouble, also if the run has nothing archived.
    """
    files_here(run)
    with transaction.atomic():
        Run.objects.select_for_update(no_key=True, of=("self",)).get(pk=run.pk)
        late = timezone.now() - LONGEST
        asked = WaczFile.objects.filter(run=run, written_at=None, trouble="")
        asked.filter(asked_at__lt=late).update(trouble=KILLED)
        if under_way := asked.first():
            return under_way
        name = f"wacz{run.pk}/{uuid4().hex}.wacz-rest"
        row = WaczFile.objects.create(run=run, name=name, machine=this_machine(), by=by)
        transaction.on_commit(partial(WACZ.ask, row.pk))
    return row


def write_asked(wacz_id: int) -> None:
    """What RQ runs. Harmless when run twice."""
    connections.close_all()  # a connection from before the fork belongs to the parent
    with WACZ.alone(wacz_id) as is_alone:
        row = WaczFile.objects.select_related("run__crawl").filter(
            pk=wacz_id, written_at=None, trouble="", run__isnull=False
        )
        if is_alone and (found := row.first()):
            write_wacz(found)


def write_wacz(row: WaczFile) -> None:
    """Write one that was asked for. What went wrong stands in its `trouble`."""
    assert row.run
    package = WaczPackage(row.run, row.asked_at)
    try:
        with deletions_held():
            storage().put(row.name, package.pieces())
    except (ArchiveTrouble, OSError) as error:
        WaczFile.objects.filter(pk=row.pk).update(trouble=str(error))
        logger.warning("a WACZ file was not written", extra={"run": row.run_id, "why": str(error)})
        return
    with transaction.atomic():
        WaczFile.objects.filter(pk=row.pk).update(
            written_at=Now(),
            machine=this_machine(),
            pages=package.pages,
            bytes=package.size,
            layout=package.layout.as_json(),
        )
        WaczFile.objects.filter(run=row.run_id, pk__lt=row.pk).update(run=None)
    remove_abandoned_wacz()


def latest_wacz(run: Run) -> WaczFile | None:
    """The one that was asked for last."""
    return WaczFile.objects.filter(run=run).order_by("-pk").first()


def readable_wacz(run: Run) -> WaczFile | None:
    """The latest that can be given out; None: there is none.

    That is one whose archive files are as they were: none was rewritten, and no other page was
    withdrawn since.
    """
    written = WaczFile.objects.filter(run=run, written_at__isnull=False).order_by("-pk")
    return next((row for row in written if is_readable(row)), None)


def is_readable(row: WaczFile) -> bool:
    """Whether it may be given out as it is."""
    layout = Layout.of(row)
    ids = [int(pk) for pk in layout.files]
    names = dict(ArchiveFile.objects.filter(pk__in=ids).values_list("pk", "name"))
    return (
        {str(pk): name for pk, name in names.items()} == layout.files
        and pending_withdrawals(ids) == layout.withdrawals
        and storage().size(row.name) is not None
    )


def is_outdated(row: WaczFile, run: Run) -> bool:
    """Whether the run has archived more since."""
    newer = ArchiveFile.objects.filter(run=run, committed_length__gt=0)
    lengths = dict(newer.values_list("pk", "committed_length"))
    layout = Layout.of(row)
    ends: dict[int, int] = {}
    for source, offset, length in layout.segments:
        ends[abs(source)] = max(ends.get(abs(source), 0), offset + length)
    return any(ends.get(pk, 0) < length for pk, length in lengths.items())


def remove_abandoned_wacz() -> None:
    """Remove what is stored for those without a run on this machine, then their rows.

    Safe to repeat.
    """
    for row in WaczFile.objects.filter(run=None):
        folder = row.name.partition("/")[0]
        try:
            if row.machine != this_machine() and not storage().list(folder):
                continue  # it is on another
            storage().delete(row.name)
            if not storage().list(folder):
                storage().delete_folder(folder)
        except (OSError, ArchiveTrouble) as error:  # the row stays, and so it is tried again
            logger.warning("a WACZ file cannot be removed", extra={"error": str(error)})
            continue
        row.delete()
