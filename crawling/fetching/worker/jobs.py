"""The RQ job that runs a shift, and the modules that a worker loads once before it forks."""

from __future__ import annotations

import gc
import logging
import signal
import socket
from types import FrameType

from rq import get_current_job

from allocation.services import take_lease
from crawling.fetching.shift.grants import ShiftGrants
from crawling.fetching.shift.lease import LeaseThread
from crawling.fetching.shift.work import ShiftWork
from crawling.frontier.sql_rows import use_quick_lists
from crawling.machine.cpu_affinity import pin_to_one_core
from crawling.machine.shift_locks import hold_shift_lock
from crawling.machine.vitals import VITALS
from crawling.models import RunProcess
from crawling.orders.scope.scope import Reach, Scope
from crawling.runs.extensions import installed_extensions
from crawling.runs.shift_lifecycle import begin_shift, settle_ended_shift
from crawling.web.addresses import canonical_address
from dnscache.protocol.names import levels_of

logger = logging.getLogger(__name__)

#: The number of new objects after which Python looks for cycles among them, and how often it looks
#: at older objects. A page makes thousands of objects and leaves hardly any cycle: with Python's
#: default of 700 a shift spent a twentieth of its time on the search.
YOUNG_OBJECTS, OLDER_EVERY = 20_000, 20


def run_shift(process_id: int, epoch: int) -> str:
    """Run the shift of this epoch of a pool's process. Return why it ended.

    Harmless when run twice or too late: the pool gives each epoch's lease to one taker, once.
    """
    use_quick_lists()
    job = get_current_job()
    worker = (job.worker_name if job else None) or socket.gethostname()
    with hold_shift_lock(process_id, epoch, worker):
        if not take_lease(process=process_id, epoch=epoch, worker=worker):
            return "another worker has this work session, or its time was over"
        return _run(process_id, epoch, worker)


def _run(process_id: int, epoch: int, worker: str) -> str:
    process = RunProcess.objects.select_related("run__crawl").get(bank_process=process_id)
    try:
        with pin_to_one_core(), VITALS.shift():
            return _work(process, process_id, epoch, worker)
    finally:
        settle_ended_shift(process, epoch=epoch, worker=worker)


def _work(process: RunProcess, process_id: int, epoch: int, worker: str) -> str:
    shift = begin_shift(process, epoch=epoch, worker=worker)
    if shift is None:
        return "the run does not want a work session any more"
    lease = LeaseThread(process_id=process_id, epoch=epoch, worker=worker, shift_id=shift.pk)
    work = ShiftWork(shift, lease, ShiftGrants(shift))

    def wind_down(signum: int, frame: FrameType | None) -> None:
        work.stop("its worker was told to stop")

    before = signal.signal(signal.SIGTERM, wind_down)
    try:
        ending = work.work()
    finally:
        signal.signal(signal.SIGTERM, before)
        lease.close()
    logger.info(
        "work session ended",
        extra={
            "run": str(process.run),
            "process_number": process.number,
            "epoch": epoch,
            "ending": ending,
        },
    )
    return ending


ANY = "www.example.org"


def prepare_to_fork() -> None:
    """Read the list of public suffixes, which takes each shift 30 ms otherwise, and look for
    installed packages, so that a faulty one is logged as the worker starts.

    Objects that exist by then are no garbage: collecting them would stop all fetch threads for 70
    ms again and again, and make each shift copy their memory pages. Newer objects are checked
    rarely.
    """
    Scope.of_seeds(Reach.DOMAIN, [canonical_address(f"https://{ANY}/")], None)
    levels_of(ANY)
    installed_extensions()
    gc.set_threshold(YOUNG_OBJECTS, OLDER_EVERY, OLDER_EVERY)
    gc.freeze()
