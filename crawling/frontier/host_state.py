"""Facts about hosts that shifts share: robots.txt files, each requested once a day (a cache of
fixed size, SEEDS W6); cookies and outages of hosts, by run.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import starmap
from typing import Any, NamedTuple

from django.db import connection

from crawling.base.encrypted_text import SealBroken, seal, unseal
from crawling.frontier.run_lock import locked_run
from crawling.frontier.sql_rows import SentRows
from crawling.installation.run_log import NewLogLine, write_all
from crawling.models import Level, RobotsFile, Shift
from crawling.web.outages import Outage
from crawling.web.statuses import NO_ANSWERS, FetchStatus, is_answer, status_sentence

#: RFC 9309, section 2.4: not longer than 24 hours
KEEP_SECONDS = 24 * 3600.0
#: a file that could not be fetched is requested again after this time
ROBOTS_RETRY_SECONDS = 60.0
#: while no newer file can be fetched, an earlier file is valid for this long, and its newer version
#: is requested this often (sections 2.3.1.4 and 2.4)
OLDEST_SECONDS = 30 * 24 * 3600.0
RENEW_SECONDS = 600.0
#: the most robots.txt files that are kept, and their total size; the oldest are deleted first
MOST_FILES = 200_000
MOST_BYTES = 512 * 1024 * 1024

KEEP_ROBOTS = """
INSERT INTO crawling_robotsfile (origin, status, body, fetched_at, expires_at)
VALUES (%s, %s, %s, clock_timestamp(), clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (origin) DO UPDATE SET status = excluded.status, body = excluded.body,
    fetched_at = excluded.fetched_at, expires_at = excluded.expires_at
"""

#: The known rules remain valid while no newer file can be fetched.
KEEP_ROBOTS_ON = """
UPDATE crawling_robotsfile SET expires_at = clock_timestamp() + make_interval(secs => %s)
WHERE origin = %s AND fetched_at > clock_timestamp() - make_interval(secs => %s)
    AND status / 100 IN (2, 4) AND status <> ALL(%s)
"""

TRIM_ROBOTS = """
DELETE FROM {table} WHERE {key} IN (
    SELECT {key} FROM (
        SELECT {key}, row_number() OVER latest AS files,
            sum(octet_length(body)) OVER latest AS bytes
        FROM {table} WINDOW latest
            AS (ORDER BY fetched_at DESC, {key} ROWS UNBOUNDED PRECEDING)
    ) kept WHERE files > %s OR bytes > %s
)
"""
#: the table for all crawls, and the table for runs with requests of their own
ROBOTS_TABLES = (("crawling_robotsfile", "origin"), ("crawling_ownrobotsfile", "id"))


class SealedSession(NamedTuple):
    host_id: int
    sealed: str


SESSIONS = SentRows("kept", SealedSession)
#: a shift that lost the host does not overwrite its successor's data
KEEP_JARS = f"""
INSERT INTO crawling_cookiejar AS jar (run_id, host_id, sealed)
SELECT %(run)s, h.id, kept.sealed
FROM {SESSIONS} JOIN crawling_host h ON h.id = kept.host_id AND h.shift_id = %(shift)s
ON CONFLICT (run_id, host_id) DO UPDATE SET sealed = excluded.sealed
"""  # noqa: S608  # constants
#: a port is no part of a cookie's host; in a rare domain with thousands of hosts the latest ones
#: suffice
JARS = """
SELECT q.host_id, found.is_own, found.sealed
FROM crawling_hostqueue q JOIN crawling_host h ON h.id = q.host_id
CROSS JOIN LATERAL (
    SELECT near.host_id = q.host_id AS is_own, jar.sealed FROM crawling_hostqueue near
    JOIN crawling_cookiejar jar ON jar.run_id = near.run_id AND jar.host_id = near.host_id
    JOIN crawling_host other ON other.id = near.host_id
    WHERE near.run_id = q.run_id AND near.domain = q.domain AND (
        q.domain <> '' OR regexp_replace(other.name, ':[0-9]+$', '')
            = regexp_replace(h.name, ':[0-9]+$', ''))
    ORDER BY near.host_id = q.host_id DESC, jar.id DESC LIMIT %s
) found
WHERE q.run_id = %s AND q.host_id = ANY(%s)
"""
MOST_JARS = 50


class QueueOutage(NamedTuple):
    """A queue's outages as JSON."""

    id: int
    outage: str | None
    origins: str | None
    retry_at: datetime | None


OUTAGES = SentRows("kept", QueueOutage)
#: only the shift that leases the host may write this
KEEP_OUTAGES = f"""
UPDATE crawling_hostqueue q
SET outage = kept.outage::jsonb, origin_outages = kept.origins::jsonb, retry_at = kept.retry_at,
    due_at = greatest(q.due_at, kept.retry_at)
FROM {OUTAGES}, crawling_host h
WHERE q.id = kept.id AND h.id = q.host_id AND h.shift_id = %(shift)s
"""  # noqa: S608  # constants


class CertificateEnd(NamedTuple):
    #: the id of the host's queue
    id: int
    ends_at: datetime


CERTIFICATES = SentRows("kept", CertificateEnd)
#: a later visit may find a renewed certificate
KEEP_CERTIFICATES = f"""
UPDATE crawling_hostqueue q SET certificate_ends_at = kept.ends_at
FROM {CERTIFICATES}, crawling_host h
WHERE q.id = kept.id AND h.id = q.host_id AND h.shift_id = %(shift)s
"""  # noqa: S608  # constants


#: a shorter rest that a host requests gets no log line
TOLD_SECONDS = 600.0


def expired_robots(origins: Collection[str]) -> dict[str, tuple[int, bytes]]:
    """Return status and body, by origin, of files that remain valid only while no newer ones can be
    fetched.
    """
    rows = RobotsFile.objects.filter(origin__in=origins).extra(
        where=[
            "expires_at <= clock_timestamp()",
            "fetched_at > clock_timestamp() - make_interval(secs => %s)",
        ],
        params=[OLDEST_SECONDS],
    )
    return {row.origin: (row.status, bytes(row.body)) for row in rows if is_answer(row.status)}


def valid_robots(origins: Collection[str]) -> dict[str, tuple[int, bytes]]:
    """Return status and body, by origin, of files that are still fresh."""
    fresh = RobotsFile.objects.filter(origin__in=origins).extra(
        where=["expires_at > clock_timestamp()"]
    )
    return {row.origin: (row.status, bytes(row.body)) for row in fresh}


def store_all_robots(run_id: int, answers: Collection[tuple[str, int, bytes]]) -> None:
    """Store the answers of a run's shift, as (origin, status, body), and log them."""
    write_all(run_id, [robots_line(*answer, holds_on=store_robots(*answer)) for answer in answers])


def robots_line(origin: str, status: int, body: bytes, *, holds_on: bool) -> NewLogLine:
    """The line of a run's log about an answer. holds_on: whether an earlier answer remains valid
    instead.
    """
    address, said = f"{origin}/robots.txt", status_sentence(status).rstrip(".")
    if holds_on:
        return NewLogLine(
            f"robots.txt unavailable ({said}): the one fetched before continues to hold.",
            Level.WARNING,
            address,
        )
    if not is_answer(status):
        return NewLogLine(
            f"robots.txt unavailable ({said}): nothing is fetched there until it answers.",
            Level.WARNING,
            address,
        )
    if status < 300:
        return NewLogLine(f"robots.txt fetched: {len(body):,} bytes.", url=address)
    return NewLogLine(f"No robots.txt ({said}): everything may be fetched.", url=address)


def store_robots(origin: str, status: int, body: bytes) -> bool:
    """Store an answer. The later of two answers is kept.

    If no file could be fetched, an earlier one remains valid. Return whether there is one.
    """
    with connection.cursor() as cursor:
        if not is_answer(status):
            cursor.execute(
                KEEP_ROBOTS_ON, [RENEW_SECONDS, origin, OLDEST_SECONDS, list(NO_ANSWERS)]
            )
            if cursor.rowcount:
                return True
        cursor.execute(
            KEEP_ROBOTS,
            [origin, status, body, KEEP_SECONDS if is_answer(status) else ROBOTS_RETRY_SECONDS],
        )
    return False


def trim_robots(*, most_files: int = MOST_FILES, most_bytes: int = MOST_BYTES) -> int:
    """Delete the oldest files beyond the size of each cache. Return their number.

    They are requested again when they are needed.
    """
    gone = 0
    with connection.cursor() as cursor:
        for table, key in ROBOTS_TABLES:
            cursor.execute(TRIM_ROBOTS.format(table=table, key=key), [most_files, most_bytes])
            gone += cursor.rowcount
    return gone


class KeptSession(NamedTuple):
    """The session of an earlier shift with a host, or with another host of its domain or
    address.
    """

    is_own: bool
    #: as `HostSession.dump`
    state: dict[str, Any]


def stored_sessions(run_id: int, hosts: Collection[int]) -> dict[int, list[KeptSession]]:
    """The sessions of each host, by the host's id, with sessions of other hosts of its domain or
    its address. Sessions sealed with another key count as expired.
    """
    sessions: dict[int, list[KeptSession]] = {}
    with connection.cursor() as cursor:
        cursor.execute(JARS, [MOST_JARS, run_id, list(hosts)])
        rows = cursor.fetchall()
    for host, is_own, sealed in rows:
        try:
            state = unseal(sealed)
        except SealBroken:
            continue
        if isinstance(state, list):  # an earlier release stored only the cookies
            is_own, state = False, {"cookies": state}
        sessions.setdefault(host, []).append(KeptSession(is_own, state))
    return sessions


def store_sessions(shift: Shift, sessions: Mapping[int, dict[str, Any]]) -> None:
    """Store the sessions of hosts that the shift has leased."""
    with connection.cursor() as cursor:
        kept = [SealedSession(host, seal(session)) for host, session in sessions.items()]
        values = SESSIONS.values(kept, run=shift.process.run_id, shift=shift.pk)
        cursor.execute(KEEP_JARS, values)


class OutageChange(NamedTuple):
    """The state of a host that a shift has found; outage is None if the host answers again."""

    queue_id: int
    name: str
    outage: Outage | None
    #: whether the host's URLs fail
    is_given_up: bool
    #: the outages of its origins, if another origin answers
    origins: Mapping[str, Outage]
    #: the origins with an outage that the queue's row already had
    known_origins: Collection[str]


def store_outages(shift: Shift, found: Sequence[OutageChange]) -> None:
    """Store the outages of hosts that are still leased, and log them."""
    if not found:
        return
    rows = [
        QueueOutage(
            one.queue_id,
            json.dumps(one.outage.as_json()) if one.outage else None,
            _outages_as_json(one.origins),
            _retry_time(one.outage),
        )
        for one in found
    ]
    with locked_run(shift.process.run_id) as run, connection.cursor() as cursor:
        cursor.execute(KEEP_OUTAGES, OUTAGES.values(rows, shift=shift.pk))
        write_all(run.pk, [line for one in found for line in _outage_lines(one)])


def store_certificate_ends(shift: Shift, ends: Mapping[int, datetime]) -> None:
    """Store the end dates of the certificates of hosts that are still leased, by their queues'
    ids.
    """
    if not ends:
        return
    rows = starmap(CertificateEnd, ends.items())
    with locked_run(shift.process.run_id), connection.cursor() as cursor:
        cursor.execute(KEEP_CERTIFICATES, CERTIFICATES.values(rows, shift=shift.pk))


def _retry_time(outage: Outage | None) -> datetime | None:
    """The time until which the queue rests. None for a rest that a host requests: the host's clock
    has it for all crawls, unless only this crawl's pages are refused.
    """
    if outage and (outage.status != FetchStatus.HOST_BUSY or outage.is_doubtful):
        return outage.retry_at
    return None


def _outages_as_json(origins: Mapping[str, Outage]) -> str | None:
    outages = {origin: outage.as_json() for origin, outage in origins.items()}
    return json.dumps(outages) if outages else None


def _outage_lines(found: OutageChange) -> Iterator[NewLogLine]:
    for origin, outage in found.origins.items():
        if origin not in found.known_origins:
            yield NewLogLine(outage.sentence, Level.WARNING)
    if line := _outage_line(found):
        yield line


def _outage_line(found: OutageChange) -> NewLogLine | None:
    """The log line of an outage's beginning or end. A rest that a host requests gets a line only if
    it is long.
    """
    outage = found.outage
    if outage is None:
        return None
    if found.is_given_up:
        return NewLogLine(f"{found.name} is given up. {outage.failure_reason}", Level.WARNING)
    if outage.status == FetchStatus.HOST_BUSY and not outage.is_doubtful:
        is_told = (outage.retry_at - datetime.now(UTC)).total_seconds() > TOLD_SECONDS
    else:
        is_told = outage.tries == 1 or outage.is_doubtful
    return NewLogLine(f"{found.name}: {outage.sentence}", Level.WARNING) if is_told else None
