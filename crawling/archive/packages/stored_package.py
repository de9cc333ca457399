"""A package that a job has made: its stored part, and whether it may still be read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from django.db.models import Q, QuerySet

from crawling.archive.files import deletions_held
from crawling.archive.packages.layout import Layout, pending_withdrawals
from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import storage
from crawling.models import ArchiveFile, BackgroundJob, Run


class Package(Protocol):
    """A package that is being made. `pieces` returns the bytes to be stored; once all are taken,
    the other fields are known.
    """

    layout: Layout
    pages: int
    size: int

    def pieces(self) -> Iterator[bytes]:
        """The bytes to be stored. Raises ArchiveTrouble and OSError."""
        ...


@dataclass(frozen=True)
class StoredPackage:
    """A package of which only its own bytes are stored, not those of the archive."""

    #: the id of its job
    id: int
    #: the name of the stored file
    name: str
    asked_at: datetime
    pages: int
    #: the size of the whole file
    bytes: int
    layout: Layout

    @classmethod
    def of(cls, job: BackgroundJob) -> StoredPackage:
        """The package of a finished job."""
        return cls(**package_fields(job))

    @property
    def is_readable(self) -> bool:
        """Whether the package may be given out unchanged. This is so if its archive files are the
        same, no page has been withdrawn since, except pages that it leaves out, and no run of it
        was deleted.
        """
        ids = [int(pk) for pk in self.layout.files]
        names = dict(ArchiveFile.objects.filter(pk__in=ids).values_list("pk", "name"))
        runs = Run.objects.filter(pk__in=self.layout.runs, removal_asked_at=None)
        return (
            {str(pk): name for pk, name in names.items()} == self.layout.files
            and runs.count() == len(self.layout.runs)
            and pending_withdrawals(ids) == self.layout.withdrawals
            and storage().size(self.name) is not None
        )

    def is_outdated(self, runs: QuerySet[Run] | Sequence[Run]) -> bool:
        newer = ArchiveFile.objects.filter(run__in=runs, committed_length__gt=0)
        lengths = dict(newer.values_list("pk", "committed_length"))
        known = self.layout.lengths
        if any(known.get(str(pk), 0) < length for pk, length in lengths.items()):
            return True
        lacking = self.layout.lacking_runs
        shown = {"removal_asked_at": None, "crawl__removal_asked_at": None}
        return bool(lacking) and Run.objects.filter(pk__in=lacking, **shown).exists()


def package_fields(job: BackgroundJob) -> dict[str, Any]:
    """The fields of the package that a job has made."""
    assert job.result is not None
    said = job.result
    return {
        "id": job.pk,
        "name": stored_file(job),
        "asked_at": job.asked_at,
        "pages": said["pages"],
        "bytes": said["bytes"],
        "layout": Layout(**said["layout"]),
    }


def store_package(package: Package, job: BackgroundJob) -> Mapping[str, Any]:
    """Store the bytes of a package that are not in the archive. Return the result of its job.
    Raises ArchiveTrouble.
    """
    try:
        with deletions_held():
            storage().put(stored_file(job), package.pieces())
    except OSError as error:
        raise ArchiveTrouble(f"The file cannot be written: {error.strerror}.") from error
    return {"pages": package.pages, "bytes": package.size, "layout": package.layout.as_json()}


def packages_with_payloads_of(kind: str, runs: Collection[int]) -> Q:
    """The jobs of a kind whose packages have payloads from the archives of these runs without
    having the runs themselves.
    """
    wanted = set(runs)
    made = BackgroundJob.objects.filter(kind=kind, is_forgotten=False, result__isnull=False)
    lent = made.filter(result__layout__has_key="payload_runs").exclude(
        result__layout__payload_runs=[]
    )
    found = lent.values_list("pk", "result__layout__payload_runs")
    return Q(pk__in=[pk for pk, ids in found if wanted.intersection(ids)])


def stored_file(job: BackgroundJob) -> str:
    return job.file("rest")
