"""Files of the archive, and measurements of housekeeping: the disk, and sums by minute.

`crawling.archive` writes the rows of files, but `crawling.frontier` writes their `committed_length`
with the pages. `crawling.runs.housekeeping.disk` writes samples of the disk, and
`crawling.frontier.run_counts` the sums.
"""

from __future__ import annotations

import uuid
from pathlib import Path

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from crawling.base.storage import has_bucket, local_storage, storage
from crawling.models.jobs import Run

#: A name is directly in a run's folder, so it contains no separator. The expression is valid for
#: Python and PostgreSQL.
NAME = r"^run[0-9]{1,19}-[A-Za-z0-9._-]+[.]warc[.]gz$"
#: the most committed bytes; files are sealed at 1 GB, so that even a file with a large last record
#: stays far below
MOST_COMMITTED = 2**40


class ArchiveFile(models.Model):
    """One WARC file.

    Bytes beyond `committed_length` were left by a crash: no page refers to them, and the next
    opening of the file cuts them off.

    A file belongs to a slot of a machine, which one shift at a time holds by a lock in the file
    system. A file without a run is to be removed.

    With a bucket, the file is uploaded in parts while it grows, and is on its machine until all of
    it is uploaded. A file that was stored as a whole is one object, and has no parts.
    """

    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="archive_files")
    name = models.CharField(max_length=200, unique=True, help_text="in a directory of its run's")
    namespace = models.UUIDField(
        default=uuid.uuid4, help_text="with an offset it makes a record's id"
    )
    machine = models.CharField(max_length=64)
    slot = models.PositiveSmallIntegerField()
    committed_length = models.BigIntegerField(db_default=0)
    parts = ArrayField(
        models.BigIntegerField(),
        db_default=[],
        default=list,
        help_text="where its parts in the bucket end, in ascending order",
    )
    opened_at = models.DateTimeField(auto_now_add=True)
    sealed_at = models.DateTimeField(
        null=True, help_text="since then it is complete, and nothing is beyond the committed length"
    )

    class Meta:
        indexes = [
            models.Index(
                fields=["run", "machine", "slot"],
                condition=models.Q(sealed_at=None),
                name="archive_files_open",
            )
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(name__regex=NAME),
                name="archive_files_named_as_ours",
            ),
            models.CheckConstraint(
                condition=Q(committed_length__range=(0, MOST_COMMITTED)),
                name="archive_files_of_a_length",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def folder(self) -> str:
        """The folder of the run's files in the storage."""
        return self.name.partition("-")[0]

    @property
    def stored_name(self) -> str:
        return f"{self.folder}/{self.name}"

    @property
    def uploaded_length(self) -> int:
        """The bytes that are in the bucket in parts."""
        return self.parts[-1] if self.parts else 0

    @property
    def is_here(self) -> bool:
        """Whether this machine can read all of the file."""
        return self.is_readable_to(self.committed_length)

    @property
    def is_in_bucket(self) -> bool:
        """Whether all of the file is in the bucket."""
        if not has_bucket() or self.parts:
            return has_bucket() and self.uploaded_length >= self.committed_length
        return local_storage().size(self.stored_name) is None and self.is_here

    def is_readable_to(self, end: int) -> bool:
        """Whether this machine can read the file up to this byte."""
        if has_bucket() and self.parts and self.uploaded_length >= end:
            return True
        return storage().size(self.stored_name) is not None

    @property
    def path(self) -> Path:
        """The path of the file on this machine, if it is there. Raises ArchiveTrouble if it is
        outside ARCHIVE_DIR.
        """
        return local_storage().path(self.stored_name)


def archive_disk() -> Path:
    """A folder on the disk with the archive, even if nothing is archived yet."""
    place = Path(settings.ARCHIVE_DIR)
    return next(folder for folder in (place, *place.parents) if folder.exists())


def archive_folder(run: str) -> Path:
    """The directory of a run's files on this machine. `run` is the prefix of their names."""
    return Path(settings.ARCHIVE_DIR) / run


class DiskSample(models.Model):
    """Numbers of bytes at a moment, for the disk with the archive. The database may be on another
    disk.
    """

    machine = models.CharField(max_length=64)
    at = models.DateTimeField(auto_now_add=True)
    total = models.BigIntegerField()
    free = models.BigIntegerField()
    archive = models.BigIntegerField(help_text="in the archive files of this machine")
    database = models.BigIntegerField()

    class Meta:
        indexes = [models.Index(fields=["machine", "at"], name="disk_samples_in_time")]

    def __str__(self) -> str:
        return f"{self.machine} {self.at:%Y-%m-%d %H:%M}"


class MinuteTotal(models.Model):
    """The sums of `RunCount` over all runs and processes in a past minute."""

    minute = models.DateTimeField(primary_key=True)
    fetched = models.BigIntegerField()
    failed = models.BigIntegerField()
    discovered = models.BigIntegerField()
    bytes = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.minute:%Y-%m-%d %H:%M}"
