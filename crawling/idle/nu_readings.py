"""The background job that lets the Nu checker read a run's stored pages, with a grant of memory
that it asks for after all others. It gives it back between two starts of the checker when another
process needs it.

The scheduler queues it again while there is something left.
"""

from __future__ import annotations

from allocation.errors import AllocationError
from crawling.idle.turns import IdleTurn, idle_turn
from crawling.links.nu_checker import MEMORY_MIB, why_unavailable
from crawling.links.nu_reading import read_part_by_nu
from crawling.links.progress import parts_without_nu
from crawling.models import Run
from crawling.rq_jobs import NU_READING
from crawling.runs.temporary_grant import NoUnits


def check_when_idle(run_id: int) -> str:
    """What RQ runs; returns what became of it. After a kill it continues where it was."""
    run = Run.objects.select_related("crawl").filter(pk=run_id).first()
    if run is None:
        return "the run was deleted"
    if why := why_unavailable():
        return why
    with NU_READING.alone(run_id) as is_alone:
        if not is_alone:
            return "another worker has it"
        name, label = f"nu-check-{run.pk}", f"Nu check of run {run.pk}"
        try:
            with idle_turn(name, label=label, mebibytes=MEMORY_MIB) as turn:
                return _read(run, turn)
        except (NoUnits, AllocationError) as error:
            return str(error)


def _read(run: Run, turn: IdleTurn) -> str:
    for part in parts_without_nu(run).filter(nu_asked_at__isnull=False):
        read_part_by_nu(run, part, goes_on=turn.goes_on)
        if turn.is_over:
            return "others wait"
    return "all pages are read"
