"""The runs for which the scheduler has work, in SQL: read from idle processes, so that waiting and
ended runs cost nothing.

A process that waits or has a shift needs no look: the end of a shift settles the run and requests
the next one.
"""

from __future__ import annotations

from crawling.frontier.waiting_names import FREE_AT, HELD_UNTIL
from crawling.models.jobs import ENDED_IN_SQL, WINDING_DOWN_IN_SQL, WORKING_IN_SQL

#: Idle processes, which an index has (`allocation.models.bank.IS_IDLE`), and their runs. As an
#: array they are looked up one by one: the planner takes them for thousands, and would read all
#: runs.
IDLE = """
crawling_runprocess p JOIN crawling_run r ON r.id = p.run_id
WHERE p.bank_process_id = ANY(ARRAY(
    SELECT id FROM allocation_process
    WHERE state = 'active' AND lease_until IS NULL AND NOT is_waiting))
"""
HAS_NO_SHIFT = """
NOT EXISTS (SELECT FROM crawling_runprocess own JOIN crawling_shift s ON s.process_id = own.id
            WHERE own.run_id = r.id AND s.ended_at IS NULL)
"""
#: processes of runs at work that have something due, no shift, and nothing asked of the pool; extra
#: ones are started where they are added (`crawling.runs.process_count`)
DUE = f"""
SELECT p.id FROM {IDLE} AND NOT p.is_extra AND r.state IN {WORKING_IN_SQL}
  AND EXISTS (SELECT FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
              WHERE q.run_id = r.id AND q.queued > 0
                AND (q.process_number = p.number OR NOT p.serving)
                AND greatest(q.due_at, {FREE_AT}, {HELD_UNTIL})
                    <= clock_timestamp() + make_interval(secs => %(soon)s))
ORDER BY p.id
"""  # noqa: S608  # constants
#: runs without a shift that wind down, or have nothing left to fetch, or have reached a limit
UNSETTLED = f"""
SELECT r.id FROM crawling_run r WHERE r.state IN {WINDING_DOWN_IN_SQL} AND {HAS_NO_SHIFT}
UNION
SELECT r.id FROM {IDLE} AND r.state IN {WORKING_IN_SQL} AND {HAS_NO_SHIFT}
  AND NOT EXISTS (SELECT FROM crawling_hostqueue q WHERE q.run_id = r.id AND q.queued > 0)
UNION
SELECT r.id FROM crawling_run r JOIN crawling_crawljob c ON c.id = r.crawl_id
LEFT JOIN crawling_runtotal t ON t.run_id = r.id
WHERE r.state IN {WORKING_IN_SQL} AND r.started_at IS NOT NULL AND {HAS_NO_SHIFT}
  AND (t.fetched >= c.max_pages OR t.bytes >= c.max_bytes
       OR r.started_at + make_interval(secs => c.max_seconds) <= clock_timestamp())
"""  # noqa: S608  # constants
#: runs that have ended and are in the pool still
STAYING = f"""
SELECT r.id FROM {IDLE} AND r.state IN {ENDED_IN_SQL}
UNION
SELECT r.id FROM allocation_process b JOIN crawling_runprocess p ON p.bank_process_id = b.id
JOIN crawling_run r ON r.id = p.run_id
WHERE b.lease_until IS NOT NULL AND r.state IN {ENDED_IN_SQL}
"""  # noqa: S608  # constants
#: runs at work that were never taken to the pool
UNREGISTERED = f"""
SELECT DISTINCT r.id FROM crawling_runprocess p JOIN crawling_run r ON r.id = p.run_id
WHERE p.bank_process_id IS NULL AND NOT p.is_retired AND r.state IN {WORKING_IN_SQL}
"""  # noqa: S608  # constants
#: runs at work with a process that the pool has finished: they went on (`retrying`) while their end
#: was still being reported to the pool
LET_GO = f"""
SELECT DISTINCT r.id FROM crawling_run r JOIN crawling_runprocess p ON p.run_id = r.id
JOIN allocation_process b ON b.id = p.bank_process_id
WHERE r.is_latest AND r.state IN {WORKING_IN_SQL} AND b.state = 'finished' AND NOT p.is_retired
"""  # noqa: S608  # constants
