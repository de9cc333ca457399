"""The reason why a run with URLs is not fetching at the moment: the processes with the units for
which it waits, or the rest of a host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection
from django.utils import timezone

from allocation.selectors import processes_in_turn, reasons_of
from allocation.snapshot import WaitRow
from crawling.frontier.sql_rows import read_rows
from crawling.frontier.waiting_names import FREE_AT, HELD_UNTIL, PASSES_GATE, is_gate_enabled
from crawling.models import Run, RunProcess, Shift
from crawling.models.jobs import WORKING_IN_SQL
from crawling.runs.diagnosis import STARTING_SOON
from crawling.runs.idle_capacity import lack_of_idle_capacity
from crawling.runs.stage_waits import stage_reasons
from crawling.web.outages import Outage, outage_waited_for, read_outage, read_outages

#: the next free host of each run: its name, the seconds until it is free, the other crawl that
#: leases it, if any, and whether it waits for DNS
NEXT_HOST = f"""
SELECT DISTINCT ON (q.run_id) q.run_id AS run, q.id AS queue, h.name,
    extract(epoch FROM greatest(q.due_at, {FREE_AT}, {HELD_UNTIL}) - clock_timestamp())::float8
        AS seconds,
    c.name AS taken_by, NOT {PASSES_GATE} AS is_held, h.rest_reason, q.outage::text AS outage,
    q.origin_outages::text AS origin_outages, q.due_at
FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
LEFT JOIN crawling_shift s ON s.id = h.shift_id AND s.ended_at IS NULL
LEFT JOIN crawling_runprocess p ON p.id = s.process_id AND p.run_id <> q.run_id
LEFT JOIN crawling_run r ON r.id = p.run_id
LEFT JOIN crawling_crawljob c ON c.id = r.crawl_id
WHERE q.run_id = ANY(%(runs)s) AND q.queued > 0
ORDER BY q.run_id, seconds
"""  # noqa: S608  # constants

#: a host of the run that is free now, if there is one; the search stops at the first
FREE_HOST = f"""
SELECT run.id AS run, free.* FROM unnest(%(runs)s::bigint[]) AS run (id) CROSS JOIN LATERAL (
    SELECT q.id, h.name, 0.0::float8, NULL::text, FALSE, ''::text,
        NULL::text, NULL::text, q.due_at
    FROM crawling_hostqueue q
    JOIN crawling_host h ON h.id = q.host_id
    WHERE q.run_id = run.id AND q.queued > 0 AND h.shift_id IS NULL
        AND greatest(q.due_at, h.due_at) <= clock_timestamp()
        AND {PASSES_GATE}
    LIMIT 1
) AS free (queue, name, seconds, taken_by, is_held, rest_reason, outage, origin_outages, due_at)
"""  # noqa: S608  # a constant


HAS_NO_SHIFT = f"""
r.state IN {WORKING_IN_SQL} AND r.id <> ALL(ARRAY(
    SELECT own.run_id FROM crawling_runprocess own JOIN crawling_shift s ON s.process_id = own.id
    WHERE s.ended_at IS NULL))
"""  # noqa: S608  # constants
#: runs that wait for resources, found by their requests
AT_BANK = f"""
SELECT DISTINCT r.id, r.state, TRUE FROM allocation_request w
JOIN crawling_runprocess p ON p.bank_process_id = w.process_id
JOIN crawling_run r ON r.id = p.run_id
WHERE w.state = 'waiting' AND {HAS_NO_SHIFT}
"""  # noqa: S608  # a constant
#: runs that neither wait for resources nor hold any; found by processes that are idle or not in the
#: pool
BESIDE_BANK = f"""
SELECT DISTINCT r.id, r.state, FALSE
FROM crawling_runprocess p JOIN crawling_run r ON r.id = p.run_id
WHERE p.id = ANY(ARRAY(
    SELECT id FROM crawling_runprocess WHERE bank_process_id IS NULL
    UNION ALL
    SELECT id FROM crawling_runprocess WHERE bank_process_id = ANY(ARRAY(
        SELECT id FROM allocation_process
        WHERE state = 'active' AND lease_until IS NULL AND NOT is_waiting))))
  AND {HAS_NO_SHIFT} AND NOT EXISTS (
    SELECT FROM crawling_runprocess own JOIN allocation_process b ON b.id = own.bank_process_id
    WHERE own.run_id = r.id AND b.lease_until IS NOT NULL)
"""  # noqa: S608  # a constant


class WaitReason(NamedTuple):
    state: str
    reason: str


class IdleProcess(NamedTuple):
    run: int
    #: the id of the process in the pool
    at_bank: int | None
    is_granted: bool


class NextHostQueue(NamedTuple):
    """The host queue of a run that is free first."""

    run: int
    queue: int
    name: str
    #: the seconds until the host is free
    seconds: float
    #: the other crawl that has the host leased
    taken_by: str | None
    #: whether the host waits for its name to be resolved
    is_held: bool
    #: the answer that makes the host rest for all crawls, as a sentence
    rest_reason: str
    #: the outage of the host at its last try. If the host answers, but the robots.txt of an origin
    #: cannot be fetched: the outage of that origin, if all waiting URLs are on it
    outage: Outage | None


def wait_reasons(
    runs: Sequence[Run],
    *,
    waits: Mapping[int, WaitRow] | None = None,
    processes: Sequence[RunProcess] | None = None,
    hosts: Sequence[NextHostQueue] | None = None,
    explains: bool = True,
) -> dict[int, WaitReason]:
    """The reasons why runs have no shift at the moment, or why fetch threads of their shifts wait
    for units, by run id.

    runs: active runs, read with their crawls.

    waits: the waits of the runs' processes in the pool, if the caller has read them already; for
    these the whole pool is read.

    processes: the processes of the runs that have no live shift, each with its process in the pool.

    hosts: the result of `next_host_queues` for all of the runs, if the caller has it already.

    explains: whether to read the pool for the reason of a wait there; without it only the state is
    returned.
    """
    idle = (
        _processes_without_shift(runs) if processes is None else list(map(_idle_process, processes))
    )
    states = {run.pk: run.state for run in runs}
    without_shift = {process.run for process in idle}
    working = [run for run in runs if run.pk not in without_shift] if explains else []
    at_stages = {
        run: WaitReason(states[run], reason)
        for run, reason in (stage_reasons(working, waits) if working else {}).items()
    }
    return at_stages | _without_work(runs, idle, waits, hosts, explains=explains)


def _without_work(
    runs: Sequence[Run],
    idle: Sequence[IdleProcess],
    waits: Mapping[int, WaitRow] | None,
    hosts: Sequence[NextHostQueue] | None,
    *,
    explains: bool,
) -> dict[int, WaitReason]:
    if not idle:
        return {}
    states = {run.pk: run.state for run in runs}
    by_id = {run.pk: run for run in runs}
    why = {run: WaitReason(states[run], STARTING_SOON) for run in {process.run for process in idle}}
    granted = {process.run: process.is_granted for process in idle}
    at_bank = {
        run: WaitReason(states[run], STARTING_SOON) for run, is_so in granted.items() if is_so
    }
    run_of = {process.at_bank: process.run for process in idle if process.at_bank}
    if waits is None:  # only the sentence about each run's last process is shown
        last = {run_of[process]: process for process in processes_in_turn(run_of)}
        reasons = reasons_of(last.values()) if last and explains else {}
        if not explains:
            at_bank.update(dict.fromkeys(last, WaitReason("waiting", "")))
    else:
        reasons = {process: wait.reason for process, wait in waits.items()}
    at_bank.update(
        (run_of[process], WaitReason("waiting", reason)) for process, reason in reasons.items()
    )
    # for this all queues of a run are searched, so it is done only where the result is shown
    if hosts is None:
        hosts = next_host_queues(list(why.keys() - at_bank.keys()))
    resting = (host for host in hosts if host.run not in at_bank)
    why.update((host.run, _wait_at_host(by_id[host.run], host)) for host in resting)
    return why | at_bank


def _processes_without_shift(runs: Sequence[Run]) -> list[IdleProcess]:
    """The processes of these runs that have no shift. There may be ten times as many as runs, so no
    model objects are made.
    """
    working = Shift.objects.filter(process__run__in=runs, ended_at=None).values("process__run")
    processes = RunProcess.objects.filter(run__in=runs).exclude(run__in=working).order_by("pk")
    rows = processes.values_list("run_id", "bank_process_id", "bank_process__lease_until")
    return [IdleProcess(run, at_bank, lease is not None) for run, at_bank, lease in rows]


def _idle_process(process: RunProcess) -> IdleProcess:
    granted = process.bank_process is not None and process.bank_process.lease_until is not None
    return IdleProcess(process.run_id, process.bank_process_id, granted)


class WaitingRuns(dict[int, str]):
    """Runs by id, each with its state."""

    #: the number of runs that wait for resources; the others wait for a host
    for_resources = 0


def waiting_runs() -> WaitingRuns:
    """The runs that `wait_reasons` calls waiting, without the reasons, for which the whole pool
    would be read.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"({AT_BANK}) UNION ALL ({BESIDE_BANK})")
        rows = cursor.fetchall()
    waiting = {run: state for run, state, is_at_bank in rows if is_at_bank}
    beside = {run: state for run, state, _ in rows if run not in waiting}
    hosts = next_host_queues(list(beside))
    idle_only = set(
        Run.objects.filter(
            pk__in=[host.run for host in hosts if _is_host_free(host)], crawl__idle_only=True
        ).values_list("pk", flat=True)
    )
    more = (host.run for host in hosts if host.taken_by or host.run in idle_only)
    found = WaitingRuns(sorted({**waiting, **{run: beside[run] for run in more}}.items()))
    found.for_resources = len(waiting)
    return found


def next_host_queues(run_ids: list[int]) -> list[NextHostQueue]:
    """For each run, a host queue with waiting URLs that is free, or will be first."""
    if not run_ids:
        return []
    with connection.cursor() as cursor:
        cursor.execute(FREE_HOST, {"runs": run_ids, "gate": is_gate_enabled()})
        free = [row.host() for row in read_rows(cursor, _HostRow)]
        if resting := set(run_ids) - {host.run for host in free}:
            cursor.execute(NEXT_HOST, {"runs": list(resting), "gate": is_gate_enabled()})
            free += [row.host() for row in read_rows(cursor, _HostRow)]
        return free


class _HostRow(NamedTuple):
    run: int
    queue: int
    name: str
    seconds: float
    taken_by: str | None
    is_held: bool
    rest_reason: str
    outage: str | None
    origin_outages: str | None
    due_at: datetime

    def host(self) -> NextHostQueue:
        of_origins = read_outages(json.loads(self.origin_outages or "null")).values()
        outage = read_outage(json.loads(self.outage or "null"))
        return NextHostQueue(
            self.run,
            self.queue,
            self.name,
            self.seconds,
            self.taken_by,
            self.is_held,
            self.rest_reason,
            outage or outage_waited_for(of_origins, self.due_at, timezone.now()),
        )


def _is_host_free(host: NextHostQueue) -> bool:
    return not (host.taken_by or host.is_held or host.seconds > 1)


def _wait_at_host(run: Run, host: NextHostQueue) -> WaitReason:
    state = run.state
    if host.taken_by:
        return WaitReason(
            "waiting",
            f"The crawl {host.taken_by} is fetching from the host {host.name}; a host serves one "
            "crawl at a time, and they take turns.",
        )
    if host.is_held:
        return WaitReason(state, f"{host.name} waits for DNS: no name server has answered yet.")
    if host.seconds > 1 and host.outage:
        return WaitReason(state, f"Waiting for {host.name}. {host.outage.sentence}")
    if host.seconds > 1:
        return WaitReason(
            state,
            f"Resting: {host.name} may be fetched from in {host.seconds:,.0f} s. "
            f"{host.rest_reason}".rstrip(),
        )
    if run.crawl.idle_only and (lack := lack_of_idle_capacity(run.crawl)):
        return WaitReason("waiting", f"{lack} This crawl uses idle capacity only.")
    return WaitReason(state, STARTING_SOON)
