"""Why a run that wants to work is not fetching at the moment: who holds what it waits for, or until when it rests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.db import connection
from django.db.models import Exists, OuterRef

from allocation.models import Request, RequestState
from allocation.selectors import waits_of
from allocation.snapshot import WaitRow
from crawling.frontier.freeing import FREE_AT
from crawling.models import Run, RunProcess, Shift
from crawling.models.jobs import WORKING_STATES

#: the run's host that is free first, the seconds until then, and the other crawl that has it leased, if one has
NEXT_HOST = f"""
SELECT DISTINCT ON (q.run_id) q.run_id, q.id, h.name, extract(epoch FROM greatest(q.due_at, {FREE_AT}) - clock_timestamp())::float8, c.name
FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
LEFT JOIN crawling_shift s ON s.id = h.shift_id AND s.ended_at IS NULL
LEFT JOIN crawling_runprocess p ON p.id = s.process_id AND p.run_id <> q.run_id
LEFT JOIN crawling_run r ON r.id = p.run_id
LEFT JOIN crawling_crawljob c ON c.id = r.crawl_id
WHERE q.run_id = ANY(%s) AND q.queued > 0
ORDER BY q.run_id, 4
"""  # noqa: S608  # FREE_AT is a constant

#: a host of the run's that anybody may fetch from now, if there is one: found without a look at all others
FREE_HOST = """
SELECT run.id, free.* FROM unnest(%s::bigint[]) AS run (id) CROSS JOIN LATERAL (
    SELECT q.id, h.name, 0.0::float8, NULL::text FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
    WHERE q.run_id = run.id AND q.queued > 0 AND h.shift_id IS NULL AND greatest(q.due_at, h.due_at) <= clock_timestamp() LIMIT 1
) AS free (queue, name, seconds, crawl)
"""


class Why(NamedTuple):
    """The state to show and its sentence."""

    state: str
    reason: str


def why_idle(runs: Sequence[Run], *, waits: Mapping[int, WaitRow] | None = None) -> dict[int, Why]:
    """Return, by run id, why those of the runs have no shift at the moment. Each is a run that may work.

    waits: what the runs' processes wait for at the bank, of whoever has asked already: to know means to look at the whole bank.
    """
    working = Shift.objects.filter(process__run__in=runs, ended_at=None).values("process__run")
    processes = RunProcess.objects.filter(run__in=runs).exclude(run__in=working).select_related("bank_process")
    idle = {process.run_id: process for process in processes}
    if not idle:
        return {}
    states = {run.pk: run.state for run in runs}
    why = {run: Why(states[run], "It is about to ask the bank for a shift.") for run in idle}
    at_bank = {run: Why(states[run], "Granted; a worker is about to take up its shift.") for run, p in idle.items() if _is_granted(p)}
    run_of = {process.bank_process_id: process.run_id for process in processes if process.bank_process_id}
    at_bank.update(
        (run_of[process], Why("waiting", wait.reason)) for process, wait in (waits_of(run_of) if waits is None else waits).items()
    )
    # All queues of a run are looked through for this, so only where it matters.
    resting = next_hosts(list(idle.keys() - at_bank.keys()))
    why.update((run, _at_host(states[run], host, seconds, other)) for run, _, host, seconds, other in resting)
    return why | at_bank


def waiting_runs() -> list[int]:
    """The runs that `why_idle` calls waiting, without the reasons, which cost more: a look at the whole bank."""
    working = Shift.objects.filter(ended_at=None, process__run=OuterRef("run"))
    idle = RunProcess.objects.filter(~Exists(working), run__state__in=WORKING_STATES)
    waiting = Request.objects.filter(state=RequestState.WAITING, process=OuterRef("bank_process"))
    rows = list(idle.annotate(waits=Exists(waiting)).values_list("run", "waits", "bank_process__lease_until"))
    at_bank = {run for run, waits, _ in rows if waits}
    granted = {run for run, _, lease_until in rows if lease_until is not None}
    rest = {run for run, *_ in rows} - at_bank - granted
    return sorted(at_bank | {run for run, *_, taken_by in next_hosts(list(rest)) if taken_by}) if rows else []


def next_hosts(run_ids: list[int]) -> list[tuple[int, int, str, float, str | None]]:
    """Of each run with work a host queue that is free, or will be first: run, queue, host, seconds, who else has the host leased."""
    if not run_ids:
        return []
    with connection.cursor() as cursor:
        cursor.execute(FREE_HOST, [run_ids])
        free = list(cursor.fetchall())
        if resting := set(run_ids) - {run for run, *_ in free}:
            cursor.execute(NEXT_HOST, [list(resting)])
            free += cursor.fetchall()
        return free


def _at_host(state: str, host: str, seconds: float, other: str | None) -> Why:
    if other:
        return Why("waiting", f"{other} is fetching from {host}; a host serves one crawl at a time, and they take turns.")
    if seconds > 1:
        return Why(state, f"Resting: {host} may be fetched from in {seconds:,.0f} s.")
    return Why(state, "It is about to ask the bank for a shift.")


def _is_granted(process: RunProcess) -> bool:
    return process.bank_process is not None and process.bank_process.lease_until is not None
