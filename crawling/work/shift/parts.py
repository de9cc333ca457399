"""The parts of a shift, put together once at its beginning."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass

from crawling.base.encrypted_text import SealBroken
from crawling.installation.identity import identity
from crawling.models import Run, Shift
from crawling.orders.sections.fetching import FetchingPart
from crawling.runs.crawls.fetching_section import fetching_of
from crawling.runs.extensions import missing_parts
from crawling.runs.steering import pause_by_itself
from crawling.work.pipeline.context import FetchContext
from crawling.work.shift.archive_stage import ArchiveStage
from crawling.work.shift.context_factory import make_context
from crawling.work.shift.fetch_threads import FetchThreadPool
from crawling.work.shift.grants import ResourceUse, ShiftGrants
from crawling.work.shift.host_leases import HostLeases
from crawling.work.shift.lease import LeaseThread
from crawling.work.shift.memory_stage import MemoryStage
from crawling.work.shift.port import QueuedShiftPort
from crawling.work.shift.recorder import OutcomeRecorder
from crawling.work.shift.workbench import Workbench

Stop = Callable[[str], None]


@dataclass(frozen=True)
class ShiftParts:
    shift: Shift
    #: all threads use these, and the shift's own thread alone the others
    context: FetchContext
    bench: Workbench
    port: QueuedShiftPort
    grants: ShiftGrants
    memory: MemoryStage
    archive: ArchiveStage
    threads: FetchThreadPool
    hosts: HostLeases
    recorder: OutcomeRecorder


def assemble(shift: Shift, lease: LeaseThread, grants: ShiftGrants, stop: Stop) -> ShiftParts:
    """stop: called with the reason where the shift cannot fetch; its run is paused then."""
    run = shift.process.run
    memory = MemoryStage(grants)
    archive = ArchiveStage(shift, grants, user_agent=identity().user_agent)
    port = QueuedShiftPort(run.pk, lease, archive)
    _require_packages(run, stop)
    context = make_context(shift, grants, memory.budget, _fetching(run, stop), port)
    bench = Workbench()
    threads = FetchThreadPool(bench, context)
    hosts = HostLeases(
        shift, context, bench, dns_slots=lambda: grants.held["dns_slots"] - port.names_at_work
    )
    use = ResourceUse(
        threads.board,
        context.client.bandwidth,
        memory.budget,
        look_ups=lambda: port.names_at_work + hosts.names.under_way(),
        has_archive=lambda: archive.has_file,
    )
    recorder = OutcomeRecorder(shift, context, archive, port, threads, use)
    return ShiftParts(
        shift, context, bench, port, grants, memory, archive, threads, hosts, recorder
    )


def _require_packages(run: Run, stop: Stop) -> None:
    if missing := missing_parts(run.crawl.visit_order, run.crawl.seeds):
        pause_by_itself(run.pk, f"Paused on {socket.gethostname()}. {missing}")
        stop("a package that it needs is not available")


def _fetching(run: Run, stop: Stop) -> FetchingPart:
    try:
        return fetching_of(run.crawl)
    except SealBroken as trouble:
        pause_by_itself(run.pk, f"Paused because the crawl's secrets cannot be read. {trouble}")
        stop("its secrets cannot be read")
        return FetchingPart()
