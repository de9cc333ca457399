"""The rows of exports: asked for, written by a background job, found, removed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import connections, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from rq import get_current_job

from crawling.archive.files import deletions_held, this_machine
from crawling.archive.selection import files_here
from crawling.errors import ArchiveTrouble
from crawling.exports.layout import Layout
from crawling.jobs.rq_jobs import MIRROR, WACZ, RowJob
from crawling.models import ArchiveFile, Run, RunExport, WithdrawalFile
from crawling.models.datasets import ExportKind
from crawling.storage import storage

logger = logging.getLogger(__name__)

JOBS: dict[str, RowJob] = {
    ExportKind.WACZ: WACZ,
    ExportKind.MIRROR: MIRROR,
    ExportKind.LATEST_MIRROR: MIRROR,
}
ENDINGS: dict[str, str] = {
    ExportKind.WACZ: "wacz-rest",
    ExportKind.MIRROR: "zip",
    ExportKind.LATEST_MIRROR: "zip",
}
KILLED = "The background job did not come to its end; the worker's log says why."
CHANGED = "Archive files were rewritten, runs deleted or pages withdrawn since it was made."
INTERRUPTED = "The command that wrote it was interrupted."


class Package(Protocol):
    """An export in the making: `pieces` returns what has to be stored; then the rest is known."""

    layout: Layout
    pages: int
    size: int

    def pieces(self) -> Iterator[bytes]:
        """Raises ArchiveTrouble and OSError."""
        ...


def exported_runs(run: Run, kind: ExportKind) -> list[Run]:
    """The runs whose pages an export has, the latest first: the run, or, of a kind that a crawl has
    one of, all its runs with archived pages.
    """
    if not kind.is_of_crawl:
        return [run]
    runs = Run.objects.filter(crawl=run.crawl_id, removal_asked_at=None)
    archived = ArchiveFile.objects.filter(run=OuterRef("pk"), committed_length__gt=0)
    found = runs.filter(Exists(archived)).select_related("crawl").order_by("-number")
    return list(found) or [run]


def _exports(run: Run, kind: ExportKind) -> QuerySet[RunExport]:
    """Those of a run, or of its crawl."""
    exports = RunExport.objects.filter(kind=kind, run__isnull=False)
    return exports.filter(run__crawl=run.crawl_id) if kind.is_of_crawl else exports.filter(run=run)


def ask_export(run: Run, kind: ExportKind, *, by: User | None = None) -> RunExport:
    """Let a background job write an export of a run, unless one is about to.

    Raises ArchiveTrouble, also if the run has nothing archived.
    """
    for one in exported_runs(run, kind):
        files_here(one)
    with transaction.atomic():
        Run.objects.select_for_update(no_key=True, of=("self",)).get(pk=run.pk)
        asked = _exports(run, kind).filter(written_at=None, trouble="")
        asked.filter(asked_at__lt=timezone.now() - longest(kind)).update(trouble=KILLED)
        if under_way := asked.first():
            return under_way
        name = f"{kind}{run.pk}/{uuid4().hex}.{ENDINGS[kind]}"
        row = RunExport.objects.create(run=run, kind=kind, name=name, machine=this_machine(), by=by)
        transaction.on_commit(partial(JOBS[kind].ask, row.pk))
    return row


def longest(kind: str) -> timedelta:
    """One that was asked for so long ago is not waited for: its job is over."""
    return timedelta(seconds=JOBS[kind].seconds)


def write_asked_export(
    export_id: int, kind: ExportKind, package_of: Callable[[Run, datetime], Package]
) -> None:
    """Write one that was asked for. Harmless when run twice."""
    connections.close_all()  # a connection from before the fork belongs to the parent
    with JOBS[kind].alone(export_id) as is_alone:
        row = RunExport.objects.select_related("run__crawl").filter(
            pk=export_id, kind=kind, written_at=None, trouble="", run__isnull=False
        )
        if not is_alone or (found := row.first()) is None or found.run is None:
            return
        if found.began_at:  # what is too much for one job would be for the next
            row.update(trouble=KILLED)
            storage().delete(found.name)
            return
        row.update(began_at=Now())
        try:
            _write(found, found.run, package_of(found.run, found.asked_at))
        except KeyboardInterrupt:
            # the row must not look as if it were being made; a job whose worker ends comes again
            row.update(**{"began_at": None} if get_current_job() else {"trouble": INTERRUPTED})
            raise


def _write(row: RunExport, run: Run, package: Package) -> None:
    """What went wrong stands in its `trouble`."""
    trouble = ""
    try:
        with deletions_held():
            storage().put(row.name, package.pieces())
    except ArchiveTrouble as error:
        trouble = str(error)
    except OSError as error:
        trouble = f"The file cannot be written: {error.strerror}."
    asked = RunExport.objects.filter(pk=row.pk, trouble="")
    if trouble:
        asked.update(trouble=trouble)
        logger.warning("an export was not written", extra={"run": run.pk, "why": trouble})
        return
    with transaction.atomic():
        is_wanted = asked.update(
            written_at=Now(),
            machine=this_machine(),
            pages=package.pages,
            bytes=package.size,
            layout=package.layout.as_json(),
        )
        if is_wanted:
            _exports(run, ExportKind(row.kind)).filter(pk__lt=row.pk).update(run=None)
    if not is_wanted:  # a user has cancelled it
        storage().delete(row.name)
    remove_abandoned_exports()


def clear_export(export_id: int) -> None:
    """Remove what a job that was killed has left of one that was cancelled. Raises OSError and
    ArchiveTrouble.
    """
    row = RunExport.objects.filter(pk=export_id, written_at=None).first()
    if row is not None:
        storage().delete(row.name)
        if not storage().list(folder := row.name.partition("/")[0]):
            storage().delete_folder(folder)


def latest_export(run: Run, kind: ExportKind) -> RunExport | None:
    """The one that was asked for last."""
    return _exports(run, kind).order_by("-pk").first()


def readable_export(run: Run, kind: ExportKind) -> RunExport | None:
    """The latest that can be given out; None: there is none.

    That is one whose archive files are as they were: none was rewritten, no other page was
    withdrawn since, and no run deleted.
    """
    written = _exports(run, kind).filter(written_at__isnull=False)
    return next((row for row in written.order_by("-pk") if is_readable(row)), None)


def is_readable(row: RunExport) -> bool:
    """Whether it may be given out as it is."""
    layout = Layout.of(row)
    ids = [int(pk) for pk in layout.files]
    names = dict(ArchiveFile.objects.filter(pk__in=ids).values_list("pk", "name"))
    runs = Run.objects.filter(pk__in=layout.runs, removal_asked_at=None)
    return (
        {str(pk): name for pk, name in names.items()} == layout.files
        and runs.count() == len(layout.runs)
        and pending_withdrawals(ids) == layout.withdrawals
        and storage().size(row.name) is not None
    )


def is_outdated(row: RunExport, runs: Iterable[Run]) -> bool:
    """Whether these runs have archived more since."""
    newer = ArchiveFile.objects.filter(run__in=list(runs), committed_length__gt=0)
    lengths = dict(newer.values_list("pk", "committed_length"))
    known = Layout.of(row).lengths
    return any(known.get(str(pk), 0) < length for pk, length in lengths.items())


def pending_withdrawals(files: Iterable[int]) -> list[int]:
    """Ids of the withdrawals whose records these files may have still, in order."""
    found = WithdrawalFile.objects.filter(file__in=list(files), done_at=None)
    return sorted(set(found.values_list("withdrawal", flat=True)))


def remove_unreadable_exports(crawl_id: int) -> list[str]:
    """Remove what this machine stores for a crawl's exports that may not be given out any more, as
    after a withdrawal. The row says why there is none.

    Safe to repeat. Returns the names of those that could not be removed.
    """
    left: list[str] = []
    for row in RunExport.objects.filter(run__crawl=crawl_id, written_at__isnull=False):
        try:
            stored = storage().size(row.name) is not None
            if not stored or is_readable(row):
                continue  # it is on another machine, or may be given out
            storage().delete(row.name)
        except (OSError, ArchiveTrouble) as error:
            logger.warning("an export cannot be removed", extra={"error": str(error)})
            left.append(row.name)
            continue
        RunExport.objects.filter(pk=row.pk).update(written_at=None, trouble=CHANGED)
    return left


def remove_abandoned_exports() -> None:
    """Remove what is stored for those without a run on this machine, then their rows.

    Safe to repeat.
    """
    for row in RunExport.objects.filter(run=None):
        folder = row.name.partition("/")[0]
        try:
            if row.machine != this_machine() and not storage().list(folder):
                continue  # it is on another
            storage().delete(row.name)
            if not storage().list(folder):
                storage().delete_folder(folder)
        except (OSError, ArchiveTrouble) as error:  # the row stays, and so it is tried again
            logger.warning("an export cannot be removed", extra={"error": str(error)})
            continue
        row.delete()
