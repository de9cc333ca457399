"""The hosts that wait for their names to be resolved, and the names that are needed soon."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from django.conf import settings
from django.db import connection

from crawling.models.jobs import WORKING_IN_SQL
from dnscache.preresolver.gate import IS_KEPT, IS_SETTLED

#: a host is free at `due_at`. The host of a lost shift is free one delay after the end of the
#: lease, since the shift may have fetched until then
FREE_AT = (
    "CASE WHEN h.shift_id IS NULL THEN h.due_at ELSE greatest(h.due_at, h.lease_until + "
    "make_interval(secs => h.delay_seconds)) END"
)
#: A host of the queue `q` is free for a process without hosts: a shift of the same run lets it go
#: once the process has a shift, and until then may have it all the time.
FREE_AT_FOR_RETURN = f"""
CASE WHEN EXISTS (SELECT FROM crawling_shift s JOIN crawling_runprocess o ON o.id = s.process_id
                  WHERE s.id = h.shift_id AND s.ended_at IS NULL AND o.run_id = q.run_id)
     THEN h.due_at ELSE {FREE_AT} END
"""

#: the most hosts that are read of each process of a run, beginning with those that are due longest:
#: with fewer, unsettled names could hide each other
MOST_OF_A_PROCESS, MOST = 2000, 4000
#: the number of processes in line for resources whose names are resolved ahead of their shifts
FIRST_IN_LINE = 500

#: true for a host whose name is settled or needs no look-up, and for every host while the gate is
#: open
PASSES_GATE = f"""(
    NOT %(gate)s OR h.dns_name = '' OR NOT {IS_KEPT}
    OR EXISTS (SELECT FROM dnscache_dnsentry d WHERE d.name = h.dns_name AND {IS_SETTLED})
)"""

#: the time until which a host cannot pass the gate because its name rests after a failure; null if
#: unknown
HELD_UNTIL = f"""(
    SELECT d.retry_at FROM dnscache_dnsentry d
    WHERE %(gate)s AND {IS_KEPT} AND d.name = h.dns_name AND d.retry_at > statement_timestamp()
        AND NOT {IS_SETTLED}
)"""  # noqa: S608  # constants

#: the hosts among `%(hosts)s` that wait at the gate
# constants
HELD = f"SELECT h.id FROM crawling_host h WHERE h.id = ANY(%(hosts)s) AND NOT {PASSES_GATE}"  # noqa: S608

#: Processes that fetch, that may begin at any time, or that are in front of the line. Processes
#: behind these are not read, however many there are: an answer might expire before their turn.
SOON_AT_WORK = """
SELECT id FROM crawling_runprocess WHERE bank_process_id IS NULL
UNION ALL
SELECT id FROM crawling_runprocess WHERE bank_process_id = ANY(ARRAY(
    SELECT id FROM allocation_process WHERE lease_until IS NOT NULL
    UNION ALL
    SELECT id FROM allocation_process
    WHERE state = 'active' AND lease_until IS NULL AND NOT is_waiting
    UNION ALL (
        SELECT process_id FROM allocation_request WHERE state = 'waiting'
        ORDER BY pool_id, turn, seq LIMIT %(line)s
    )))
"""

#: Names that are settled for longer than the look-ahead, or that rest, are excluded before the
#: limit applies, so that they never fill it. `share` selects the names for one of several machines.
_NAMES_DUE = f"""
SELECT due.dns_name, extract(epoch FROM min(due.at))::float8, {{rank}}::float8
FROM crawling_runprocess p JOIN crawling_run r ON r.id = p.run_id
CROSS JOIN LATERAL (
    SELECT h.dns_name, q.id, greatest(q.due_at, {FREE_AT}) AS at
    FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
    LEFT JOIN dnscache_dnsentry d ON d.name = h.dns_name
    WHERE q.run_id = p.run_id AND q.process_number = p.number AND q.queued > 0
        AND q.due_at <= to_timestamp(%(until)s)
      AND h.dns_name <> '' AND mod(abs(hashtext(h.dns_name)::bigint), %(machines)s) = %(place)s
      AND greatest(q.due_at, {FREE_AT}) <= to_timestamp(%(until)s)
      AND (d.name IS NULL OR (d.expires_at <= to_timestamp(%(until)s)
          AND coalesce(d.retry_at, '-infinity') <= clock_timestamp()))
    ORDER BY {{first}} LIMIT {MOST_OF_A_PROCESS}
) due
WHERE p.id = ANY(ARRAY({SOON_AT_WORK})) AND r.state IN {WORKING_IN_SQL}
GROUP BY 1 ORDER BY 3 LIMIT {MOST}
"""  # noqa: S608  # constants
NAMES_DUE = _NAMES_DUE.format(rank="extract(epoch FROM min(due.at))", first="q.due_at")
#: the patent's variant (SEEDS D1): a queue is created when a page's links first lead to its host,
#: so the newest queues are those of hosts to which the latest pages link
NAMES_LINKED = _NAMES_DUE.format(rank="-max(due.id)", first="q.id DESC")


class DueName(NamedTuple):
    name: str
    due: float
    #: lowest first: the time when the host is due, or minus the queue's id, so that the hosts of
    #: the newest links come first
    rank: float


def is_gate_enabled() -> bool:
    """Whether hosts are held back until their names are settled."""
    return bool(settings.DNS_AHEAD == "gate")


def hosts_held_at_gate(hosts: Collection[int]) -> set[int]:
    """Return the ids of the hosts that wait for their names to be resolved."""
    with connection.cursor() as cursor:
        cursor.execute(HELD, {"hosts": list(hosts), "gate": is_gate_enabled()})
        return {host for (host,) in cursor.fetchall()}


def due_names(until: float, *, place: int = 0, machines: int = 1) -> list[DueName]:
    """Return the names of hosts that are due before `until` and need a lookup, in the order in
    which they are resolved.

    `place` is this machine's number among the `machines` that share the names.
    """
    with connection.cursor() as cursor:
        values = {"until": until, "place": place, "machines": machines, "line": FIRST_IN_LINE}
        linked_first = settings.DNS_AHEAD_FIRST == "linked"
        cursor.execute(NAMES_LINKED if linked_first else NAMES_DUE, values)
        return [DueName(*row) for row in cursor.fetchall()]
