"""The hosts of a process that gets no worker are given to the run's other processes until its next
shift (SEEDS W14).
"""

from __future__ import annotations

from django.db import connection

from crawling.frontier import locked_run, reassign_hosts, serving_process_numbers
from crawling.frontier.waiting_names import FREE_AT
from crawling.installation.run_log import write
from crawling.models import Run, RunProcess
from crawling.models.jobs import WORKING_IN_SQL, WORKING_STATES

#: the seconds for which the hosts of a process without a shift must have been due until it counts
#: as absent
ABSENT_SECONDS = 15.0
#: the ending of a shift whose lease was not renewed, so that its hosts have rested for a lease
#: already; another machine may have been cut off
LEASE_ENDED = "lost: its lease ran out"
#: the same seconds after such a shift: a free worker has taken up the next one by then
LOST_SECONDS = 3.0

#: absent processes, in runs of which another process has a shift
ABSENT = f"""
SELECT DISTINCT p.id FROM crawling_shift live JOIN crawling_runprocess o ON o.id = live.process_id
JOIN crawling_runprocess p ON p.run_id = o.run_id AND p.id <> o.id
JOIN crawling_run r ON r.id = p.run_id
CROSS JOIN LATERAL (
    SELECT CASE WHEN EXISTS (
        SELECT FROM (SELECT ending FROM crawling_shift s WHERE s.process_id = p.id
                     ORDER BY s.epoch DESC LIMIT 1) latest
        WHERE latest.ending = %(lease_ended)s
    ) THEN %(lost)s ELSE %(absent)s END AS seconds) patience
WHERE live.ended_at IS NULL AND o.serving AND p.serving AND r.state IN {WORKING_IN_SQL}
  AND NOT EXISTS (SELECT FROM crawling_shift s WHERE s.process_id = p.id
                  AND (s.ended_at IS NULL OR s.ended_at > clock_timestamp() -
                      make_interval(secs => patience.seconds)))
  AND EXISTS (SELECT FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
              WHERE q.run_id = p.run_id AND q.process_number = p.number AND q.queued > 0
                AND greatest(q.due_at, {FREE_AT}) <= clock_timestamp() -
                    make_interval(secs => patience.seconds))
ORDER BY p.id
"""  # noqa: S608  # FREE_AT is a constant


def take_over_hosts() -> None:
    """Distribute the hosts of absent processes among the run's other processes. All other hosts
    stay where they are.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            ABSENT,
            {"absent": ABSENT_SECONDS, "lost": LOST_SECONDS, "lease_ended": LEASE_ENDED},
        )
        absent = [row[0] for row in cursor.fetchall()]
    for process in RunProcess.objects.filter(pk__in=absent):
        with locked_run(process.run_id) as run:
            _take_over_hosts_of(run, process.number)


def _take_over_hosts_of(run: Run, number: int) -> None:
    rest = [other for other in serving_process_numbers(run.pk) if other != number]
    if not rest or run.state not in WORKING_STATES:
        return
    RunProcess.objects.filter(run=run, number=number).update(serving=False)
    moved = reassign_hosts(run, rest, of=number)
    write(run.pk, f"Process {number} has no worker; the others take over its hosts ({moved}).")


def return_hosts_to_process(run: Run, process: RunProcess) -> None:
    """Return the hosts of a process to it, since it has a shift again.

    The caller holds the run's lock.
    """
    if process.serving:
        return
    process.serving = True
    RunProcess.objects.filter(pk=process.pk).update(serving=True)
    moved = reassign_hosts(run, serving_process_numbers(run.pk))
    write(
        run.pk, f"Process {process.number} has a worker again; its hosts come back to it ({moved})."
    )
