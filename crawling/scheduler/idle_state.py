"""Whether anything is at work: an idle installation is looked after less often."""

from __future__ import annotations

from django.db import connection

from crawling.models.jobs import WINDING_DOWN_IN_SQL, WORKING_IN_SQL

#: each part is answered by an index of few rows, however many runs have ended
IS_AT_WORK = f"""
SELECT EXISTS (SELECT FROM crawling_run
               WHERE removal_asked_at IS NULL AND state IN {WORKING_IN_SQL})
    OR EXISTS (SELECT FROM crawling_run
               WHERE removal_asked_at IS NULL AND state IN {WINDING_DOWN_IN_SQL})
    OR EXISTS (SELECT FROM allocation_process WHERE lease_until IS NOT NULL)
    OR EXISTS (SELECT FROM allocation_request WHERE state = 'waiting')
"""  # noqa: S608  # constants


def is_idle() -> bool:
    """Whether no run works or winds down, and no process of a pool holds or waits for units."""
    with connection.cursor() as cursor:
        cursor.execute(IS_AT_WORK)
        [is_at_work] = cursor.fetchone() or [True]
    return not is_at_work
