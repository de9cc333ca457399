"""Uploads the archive files of a shift to the bucket while they grow. Only committed bytes are
uploaded, so a part never has a record without its page.

Meanwhile the bytes are on the disk of this machine. A bucket that cannot be reached for some time
stops no crawl; one that refuses does, since only its operator can change that.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from django.db import DatabaseError, connections
from django.utils import timezone

from crawling.archive.files import seal, seal_all, this_machine
from crawling.archive.parts import upload
from crawling.base.bucket import BucketRefuses
from crawling.base.errors import ArchiveTrouble
from crawling.models import ArchiveFile
from crawling.models.jobs import ENDED_STATES

logger = logging.getLogger(__name__)

#: a part is uploaded when it has so many bytes
PART_BYTES = 8 * 1024 * 1024
#: Smaller parts are uploaded after this time, or after this share of the file's age. So a file gets
#: about a hundred more parts each time its age trebles.
LEAST_SECONDS = 30.0
SHARE_OF_AGE = 0.01
LOOK_SECONDS = 1.0
#: the longest time between two tries while the bucket cannot be reached
MOST_WAIT_SECONDS = 60.0
#: A shift that ends waits this long at most until its last parts are uploaded. The next shift
#: uploads the rest.
FINISH_SECONDS = 3.0


class Uploads:
    """A thread of a shift. `trouble` is a sentence on why the bucket refuses files."""

    def __init__(self) -> None:
        self.trouble = ""
        self._noted: dict[int, int] = {}
        self._rows: dict[int, ArchiveFile] = {}
        self._since: dict[int, float] = {}
        self._changed = threading.Condition()
        self._is_ending, self._wait = False, LOOK_SECONDS
        self._thread = threading.Thread(target=self._work, name="uploads", daemon=True)

    def note(self, lengths: Mapping[int, int]) -> None:
        """Note the committed lengths of files, by the ids of their rows."""
        if not lengths:
            return
        with self._changed:
            self._noted |= lengths
            if not self._thread.ident:
                self._thread.start()

    def finish(self) -> None:
        """Upload the rest, for a bounded time."""
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()
        if self._thread.ident:
            self._thread.join(FINISH_SECONDS)

    def _work(self) -> None:
        try:
            self._try(_seal_leftovers)
            is_last = False
            while not is_last:
                with self._changed:
                    self._changed.wait_for(lambda: self._is_ending, self._wait)
                    is_last = self._is_ending
                self._try(self._upload_due)
        finally:
            connections.close_all()

    def _upload_due(self) -> None:
        with self._changed:
            noted, self._noted = self._noted, {}
        for number, length in noted.items():
            row = self._rows.get(number) or ArchiveFile.objects.filter(pk=number).first()
            if row is None:
                continue  # its run is deleted
            row.committed_length = length
            self._rows[number] = row
            self._since.setdefault(number, time.monotonic())
        for number, row in sorted(self._rows.items()):
            is_full = number != max(self._rows)  # the shift writes its files one after the other
            if is_full:
                seal(row)
                del self._rows[number]
            elif self._is_due(row):
                upload(row)
                self._since.pop(number, None)

    def _is_due(self, row: ArchiveFile) -> bool:
        size = row.committed_length - row.uploaded_length
        waited = time.monotonic() - self._since.get(row.pk, time.monotonic())
        age = (timezone.now() - row.opened_at).total_seconds()
        is_late = waited >= max(LEAST_SECONDS, SHARE_OF_AGE * age)
        return size > 0 and (size >= PART_BYTES or is_late or self._is_ending)

    def _try(self, step: Callable[[], None]) -> None:
        """Do a step of uploads, which the next one repeats if it fails."""
        try:
            step()
        except BucketRefuses as error:
            self.trouble = str(error.strerror)
        except (OSError, ArchiveTrouble, DatabaseError) as error:
            logger.warning("the archive cannot be uploaded now", extra={"error": str(error)})
            self._wait = min(2 * self._wait, MOST_WAIT_SECONDS)
        else:
            self.trouble, self._wait = "", LOOK_SECONDS


def _seal_leftovers() -> None:
    """Seal files of ended runs that are still on this machine."""
    left = ArchiveFile.objects.filter(
        sealed_at=None, machine=this_machine(), run__state__in=ENDED_STATES
    )
    for run_id in left.values_list("run", flat=True).distinct():
        seal_all(run_id)
