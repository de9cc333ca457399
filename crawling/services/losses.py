"""A shift that ended without closing its own books."""

from __future__ import annotations

import logging
from uuid import uuid4

from allocation.services import release_resources
from crawling.models import RunProcess
from crawling.services.shifts import go_on, lose_shift

logger = logging.getLogger(__name__)


def shift_was_lost(process_id: int, epoch: int, ending: str) -> None:
    """The shift's operating-system process has ended: close its books, give back its units, and go on."""
    process = RunProcess.objects.select_related("run__crawl").filter(bank_process=process_id).first()
    if process is None:
        return
    logger.warning("shift lost", extra={"run": str(process.run), "epoch": epoch, "ending": ending})
    lose_shift(process, epoch, ending, is_dead=True)
    release_resources(process=process_id, epoch=epoch, release_id=uuid4(), amounts=None, reason=ending)
    go_on(process)


def shift_was_reaped(process_id: int, epoch: int) -> None:
    """The bank took a shift's units back because its lease ran out: close its books; its hosts rest until their own leases end."""
    process = RunProcess.objects.select_related("run__crawl").filter(bank_process=process_id).first()
    if process is None:
        return
    lose_shift(process, epoch, "lost: its lease ran out", is_dead=False)
    go_on(process)
