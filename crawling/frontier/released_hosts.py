"""Take hosts back from a shift, and note how long they have to rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import starmap
from typing import NamedTuple

from django.db import connection

from crawling.frontier.host_state import OutageChange, store_certificate_ends, store_outages
from crawling.frontier.rules.hosts import RequestsSpent
from crawling.frontier.run_lock import locked_run
from crawling.frontier.sql_rows import SentRows
from crawling.models import Shift


class ReturnedHost(NamedTuple):
    """A host that is given back: the seconds until the next fetch may begin, the delay that was
    kept, and how often in a row the host was overloaded.
    """

    host_id: int
    wait_seconds: float
    delay_seconds: float
    backoffs: int = 0
    #: whether the host has answered in this shift
    has_answered: bool = False
    #: the answer because of which the host rests for long
    rest_reason: str = ""


RETURNED = SentRows("gone", ReturnedHost)
LET_GO = f"""
UPDATE crawling_host h
SET shift_id = NULL, lease_until = NULL, delay_seconds = gone.delay_seconds,
    backoffs = gone.backoffs, rest_reason = gone.rest_reason,
    answered_at = CASE WHEN gone.has_answered THEN clock_timestamp() ELSE h.answered_at END,
    due_at = greatest(h.due_at, clock_timestamp() + make_interval(secs => gone.wait_seconds))
FROM {RETURNED} WHERE h.id = gone.host_id AND h.shift_id = %(shift)s
"""  # noqa: S608  # constants


class QueueWait(NamedTuple):
    id: int
    wait_seconds: float


RESTING = SentRows("resting", QueueWait)
REST_QUEUES = f"""
UPDATE crawling_hostqueue q SET due_at = greatest(q.due_at,
    clock_timestamp() + make_interval(secs => resting.wait_seconds))
FROM {RESTING} WHERE q.id = resting.id
"""  # noqa: S608  # constants


class HostRequests(NamedTuple):
    id: int
    at: datetime | None
    in_minute: int
    in_day: int
    delay_seconds: float
    wait_seconds: float


COUNTED = SentRows("counted", HostRequests)
COUNT_REQUESTS = f"""
UPDATE crawling_host h SET counted_at = counted.at, requests_in_minute = counted.in_minute,
    requests_in_day = counted.in_day, delay_seconds = counted.delay_seconds,
    due_at = greatest(h.due_at, clock_timestamp() + make_interval(secs => counted.wait_seconds))
FROM {COUNTED} WHERE h.id = counted.id AND h.shift_id = %(shift)s
"""  # noqa: S608  # constants

FREE_HOSTS = """
UPDATE crawling_host SET shift_id = NULL, lease_until = NULL,
    due_at = greatest(due_at, clock_timestamp() + make_interval(secs => delay_seconds))
WHERE shift_id = %s
"""


def release_hosts(shift: Shift, hosts: Sequence[ReturnedHost]) -> None:
    """Give hosts back, each with the rest that it needs."""
    if not hosts:
        return
    with connection.cursor() as cursor:
        cursor.execute(LET_GO, RETURNED.values(hosts, shift=shift.pk))


def delay_queues(run_id: int, waits: Mapping[int, float]) -> None:
    """Let these queues of a run rest, each for the given number of seconds. Other crawls may still
    fetch from their hosts.
    """
    with locked_run(run_id), connection.cursor() as cursor:
        cursor.execute(REST_QUEUES, RESTING.values(starmap(QueueWait, waits.items())))


class AskedHost(NamedTuple):
    """A host that got requests: the delay that is kept, and the seconds until the next request."""

    host_id: int
    spent: RequestsSpent
    delay_seconds: float
    wait_seconds: float


def count_requests(shift: Shift, hosts: Iterable[AskedHost]) -> None:
    """Note the number of requests to the shift's hosts, and the rest that each needs, so that both
    facts remain even if the shift is killed.
    """
    counts = sorted(
        HostRequests(
            one.host_id,
            one.spent.at,
            one.spent.in_minute,
            one.spent.in_day,
            one.delay_seconds,
            one.wait_seconds,
        )
        for one in hosts
    )
    with connection.cursor() as cursor:
        cursor.execute(COUNT_REQUESTS, COUNTED.values(counts, shift=shift.pk))


def free_hosts_of_shift(shift_id: int) -> None:
    """Take all hosts from a shift that is known to be dead. Each is free after one delay."""
    with connection.cursor() as cursor:
        cursor.execute(FREE_HOSTS, [shift_id])


class ReturnedVisit(NamedTuple):
    """A visit that is over. A field is None if it has nothing new to store."""

    queue_id: int
    host: ReturnedHost
    #: the requests that are not counted yet
    asked: AskedHost | None
    #: seconds for which only this run leaves the host alone
    own_rest: float | None
    outage: OutageChange | None
    certificate_ends_at: datetime | None


def return_hosts(shift: Shift, visits: Sequence[ReturnedVisit]) -> None:
    """Store the results of the visits, then release the hosts, since only the shift that leases a
    host may write its outages and certificates.
    """
    if asked := [visit.asked for visit in visits if visit.asked]:
        count_requests(shift, asked)
    if rests := {one.queue_id: one.own_rest for one in visits if one.own_rest is not None}:
        delay_queues(shift.process.run_id, rests)
    store_outages(shift, [visit.outage for visit in visits if visit.outage])
    ends = {one.queue_id: one.certificate_ends_at for one in visits if one.certificate_ends_at}
    store_certificate_ends(shift, ends)
    release_hosts(shift, [visit.host for visit in visits])
