"""The background job that packs a collection, as it was when the job was requested, into one WACZ
file. Its `spec` has the runs that are packed as a whole, the single pages, and in `reads` the runs
of both. A deletion or withdrawal in one of these runs makes the file invalid.
"""

from __future__ import annotations

from collections.abc import Collection as Numbers
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, Q, QuerySet

from crawling.archive.packages.stored_package import (
    StoredPackage,
    packages_with_payloads_of,
    store_package,
)
from crawling.base.errors import ArchiveTrouble
from crawling.installation.permissions import crawls_acted_on
from crawling.jobs.enqueue import open_job, request_job
from crawling.jobs.job_rows import visible_jobs
from crawling.jobs.kinds import JobEffect, JobEvent, JobKind, JobResult, JobScope
from crawling.jobs.removal import CHANGED
from crawling.jobs.running_job import JobGone, RunningJob
from crawling.models import ArchiveFile, BackgroundJob, Page, Run
from crawling.uses.collections.changes import require_change, subject_of
from crawling.uses.collections.models import Collection
from crawling.uses.collections.restoring import forget_deleted_collections

NAME = "collection-wacz"
NOTHING = "Nothing of this collection is archived."
MEANWHILE = "Pages of the collection were deleted or taken down meanwhile; create the file again."
OTHERS = (
    "The file has answers as they came, with the cookies that they set: only a user who may act on "
    "each of its crawls gets it."
)


def archived_runs_of_collection(collection: Collection) -> QuerySet[Run]:
    """The archived runs of the collection's crawls, in their order."""
    crawls = collection.members.filter(page=None).values("crawl")
    archived = ArchiveFile.objects.filter(run=OuterRef("pk"), committed_length__gt=0)
    runs = Run.objects.filter(crawl__in=crawls, crawl__removal_asked_at=None)
    return runs.filter(Exists(archived)).order_by("crawl", "number")


def single_pages_of_collection(collection: Collection) -> QuerySet[Page]:
    members = collection.members.filter(page__isnull=False).values("page")
    pages = Page.objects.filter(pk__in=members, archive_file__isnull=False)
    shown = {"run__removal_asked_at": None, "run__crawl__removal_asked_at": None}
    return pages.filter(**shown).order_by("pk")


def _make_wacz(job: RunningJob) -> JobResult:
    # readers of archive files are imported only where they are needed
    from crawling.archive.packages.wacz import WaczPackage

    spec = job.row.spec
    collection = Collection.objects.filter(pk=spec["collection"]).first()
    if collection is None:
        raise JobGone
    runs = archived_runs_of_collection(collection).filter(pk__in=spec["runs"])
    singles = single_pages_of_collection(collection).filter(pk__in=spec["pages"])
    joined = singles.select_related("url", "run__crawl", "archive_file")
    package = WaczPackage(
        collection.name, job.row.asked_at, list(runs), list(joined), collection.description
    )
    result = store_package(package, job.row)
    job.row.result = dict(result)
    if not StoredPackage.of(job.row).is_readable:
        raise ArchiveTrouble(MEANWHILE)
    return result


def _has_read(runs: Numbers[int]) -> Q:
    """The latest files of collections that contain something of these runs, even if only a payload.
    Only the latest file of each collection is kept, so they are few.
    """
    wanted = set(runs)
    jobs = BackgroundJob.objects.filter(kind=NAME, is_forgotten=False)
    read = jobs.values_list("pk", "spec__reads", "result__layout__runs")
    found = [pk for pk, *both in read if any(wanted.intersection(ids or ()) for ids in both)]
    return Q(pk__in=found) | packages_with_payloads_of(NAME, runs)


COLLECTION_WACZ = JobKind(
    name=NAME,
    label="WACZ file of a collection",
    done="made",
    work=_make_wacz,
    # the same as for exports of runs
    effects={
        JobEvent.DELETED: JobEffect.FORGET,
        JobEvent.WITHDRAWN: JobEffect.CHECK,
        JobEvent.RESTORED: JobEffect.FORGET,
        JobEvent.REWRITTEN: JobEffect.CHECK,
    },
    seconds=6 * 60 * 60,
    scope=JobScope.INSTALLATION,
    attempts=1,
    has_files=True,
    keeps_latest_only=True,
    is_run_again=False,
    is_valid=lambda job: StoredPackage.of(job).is_readable,
    has_read=_has_read,
)
KINDS = (COLLECTION_WACZ,)
DUTIES = ((forget_deleted_collections, 600.0),)


@dataclass(frozen=True)
class CollectionFile:
    """The state of a collection's WACZ file."""

    collection: Collection
    #: the file, if it can be given out
    file: StoredPackage | None = None
    #: the runs of the members in the file. Of crawls that share payloads, some payloads may be in
    #: the archives of others, as in any file of a run
    reads: Numbers[int] = ()
    #: whether members were added or removed since the request, or a crawl has archived more; not
    #: looked up while the next file is being made, since the page asks every second
    is_outdated: bool = False
    under_way: BackgroundJob | None = None
    #: the reason why the last file is missing
    trouble: str = ""
    #: the last job, if a user has cancelled it; otherwise None
    cancelled: BackgroundJob | None = None

    @property
    def name(self) -> str:
        return f"collection-{self.collection.pk}.wacz"


def file_of(collection: Collection) -> CollectionFile:
    jobs = visible_jobs().filter(kind=NAME, subject=subject_of(collection)).order_by("-pk")
    latest = jobs.select_related("cancelled_by").first()
    if latest is None:
        return CollectionFile(collection)
    done = jobs.filter(trouble="").exclude(ended_at=None).exclude(result=None)
    made = next((job for job in done if StoredPackage.of(job).is_readable), None)
    file = StoredPackage.of(made) if made else None
    trouble = latest.trouble or ("" if made or latest.is_open else CHANGED)
    return CollectionFile(
        collection,
        file,
        made.spec["reads"] if made else (),
        is_outdated=bool(
            made and file and not latest.is_open and _is_outdated(collection, made, file)
        ),
        under_way=latest if latest.is_open else None,
        trouble=trouble,
        cancelled=latest if latest.cancelled_at else None,
    )


def _is_outdated(collection: Collection, made: BackgroundJob, file: StoredPackage) -> bool:
    now = _job_spec(collection)
    return any(now[name] != made.spec[name] for name in now) or file.is_outdated(
        archived_runs_of_collection(collection)
    )


def _job_spec(collection: Collection) -> dict[str, Any]:
    runs = list(archived_runs_of_collection(collection).values_list("pk", flat=True))
    singles = list(single_pages_of_collection(collection).values_list("pk", "run"))
    reads = sorted({*runs, *(run for _, run in singles)})
    pages = [page for page, _ in singles]
    return {"collection": collection.pk, "runs": runs, "pages": pages, "reads": reads}


def request_file(collection: Collection, *, by: User | None) -> BackgroundJob:
    """Request a background job that packs the collection, unless one is waiting or working. Raises
    ArchiveTrouble or PermissionDenied.
    """
    spec = _permitted_spec(collection, by)
    return request_job(COLLECTION_WACZ, None, spec, by=by, subject=subject_of(collection))


def open_file(collection: Collection) -> BackgroundJob:
    """Open the job of the file for a command that packs the collection itself. Raises
    ArchiveTrouble.
    """
    spec = _permitted_spec(collection, None)
    return open_job(COLLECTION_WACZ, None, spec, by=None, subject=subject_of(collection))


def _permitted_spec(collection: Collection, by: User | None) -> dict[str, Any]:
    require_change(by, collection)
    spec = _job_spec(collection)
    if not spec["reads"]:
        raise ArchiveTrouble(NOTHING)
    _require_runs(by, spec["reads"])
    return spec


def readable_file(collection: Collection, *, by: User | None) -> CollectionFile:
    """The state, which has the file, for a user who may act on each crawl of its members.

    Raises ArchiveTrouble if there is none, and PermissionDenied.
    """
    require_change(by, collection)
    state = file_of(collection)
    if state.file is None:
        raise ArchiveTrouble(state.trouble or "The file of this collection is not created yet.")
    _require_runs(by, state.reads)
    return state


def _require_runs(by: User | None, runs: Numbers[int]) -> None:
    crawls = set(Run.all_objects.filter(pk__in=runs).values_list("crawl", flat=True))
    if crawls - crawls_acted_on(by, crawls):
        raise PermissionDenied(OTHERS)
