"""Whether each part of the product answers, as a word or a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

import django_rq
from django.conf import settings
from django.db import DatabaseError, ProgrammingError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from redis.exceptions import RedisError

from allocation.checks import missing_unit_sentences
from crawling.fetching.preresolver.slots import is_any_taken
from crawling.jobs.rq_jobs import SHIFTS, live_browsers, live_workers
from crawling.runs.housekeeping.disk import disk_now, forecast_of
from crawling.runs.housekeeping.disk_forecast import Forecast
from crawling.scheduler.leader import has_leader
from crawlsite.health.browsers import granted_and_used_units, is_browser_wanted
from crawlsite.private_files import places_open_to_others
from dnscache.selectors import are_servers_silent

OK = "ok"
NO_BROWSERS = (
    "No worker has a browser. Run `make browser` where workers run, and restart them; the list of "
    "workers says why each has none."
)
#: follows the number of workers
AT_WORK = "for crawls"
#: the disk counts as nearly full if less than this share of it is free
LITTLE_SPACE = 0.05
#: the time before the disk is full that causes a warning
SOON = timedelta(days=3)


@dataclass(frozen=True)
class ComponentHealth:
    name: str
    is_fine: bool
    sentence: str
    #: details for readers who want them
    detail: str = ""


def component_health() -> list[ComponentHealth]:
    """All parts of the product, except PostgreSQL, since the page itself shows that PostgreSQL
    answers.
    """
    return list(_components())


def _components() -> Iterator[ComponentHealth]:
    answer, count = OK, None
    try:
        count = live_workers()
    except RedisError as error:
        answer = _no_answer_sentence(error)
    yield ComponentHealth(
        "Workers",
        bool(count),
        "Redis does not tell"
        if count is None
        else f"{count} for crawls"
        if count
        else "none: no crawl continues",
    )
    leading = check_scheduler()
    yield ComponentHealth("Scheduler", leading == OK, "running" if leading == OK else leading)
    told = check_dns_resolver()
    yield ComponentHealth(
        "DNS resolver",
        told == OK,
        ("resolved by crawls" if settings.DNS_AHEAD == "off" else "pre-resolved")
        if told == OK
        else told,
    )
    yield check_browsers()
    yield ComponentHealth("Redis", answer == OK, "OK" if answer == OK else answer)
    yield ComponentHealth("PostgreSQL", True, "OK")
    yield check_disk()
    if places := places_open_to_others((settings.STATE_DIR, settings.ARCHIVE_DIR)):
        yield ComponentHealth(
            "Private files",
            False,
            f"other accounts of the machine can enter {' and '.join(map(str, places))}",
            "All that was crawled is there: `chmod o= DIRECTORY` as its owner.",
        )


def check_browsers() -> ComponentHealth:
    """The browsers of workers, which only crawls that render pages need. Takes one query."""
    try:
        pages = live_browsers().pages
    except RedisError:
        return ComponentHealth("Browsers", True, "Redis does not tell")
    if pages:
        _, granted = granted_and_used_units()
        told = f"{granted.pages:,} of {pages:,} page{'s' * (pages != 1)} open"
        return ComponentHealth("Browsers", True, told)
    is_wanted = is_browser_wanted()
    told = "none: crawls that render pages wait" if is_wanted else "none: no page is rendered"
    return ComponentHealth("Browsers", not is_wanted, told, NO_BROWSERS)


def check_disk() -> ComponentHealth:
    """The disk with the archive on this machine: the free space, and the time when it will be used
    up.
    """
    now = disk_now()
    told, since = forecast_of(now)
    is_late = bool(told and told.full_at and told.full_at - timezone.now() < SOON)
    room = f"{filesizeformat(now.free)} free of {filesizeformat(now.total)}"
    if told and told.full_at:
        room = f"{room}, full about {told.full_at:%Y-%m-%d}"
    return ComponentHealth(
        "Disk",
        now.free > LITTLE_SPACE * now.total and not is_late,
        room,
        _growth_in_words(told, since),
    )


def _growth_in_words(told: Forecast | None, since: datetime | None) -> str:
    """The growth of the used space, or the reason why there is no forecast yet."""
    if since is None:
        return "The scheduler has not measured it yet, so there is no forecast."
    if told is None:
        return (
            f"Measured since {since:%Y-%m-%d %H:%M} UTC; it takes a day to say when it will be "
            "full."
        )
    days = f"{told.span.days} day{'' if told.span.days == 1 else 's'}"
    parts = (
        f"archive {_signed_size(told.archive_a_day)}, "
        f"database {_signed_size(told.database_a_day)}, "
        f"all that is on it {_signed_size(told.used_a_day)}"
    )
    return (
        f"A day, over the last {days}: "
        f"{parts}.{'' if told.full_at else ' At this rate it does not fill up.'}"
    )


def _signed_size(size: float) -> str:
    return f"{'-' if size < 0 else '+'}{filesizeformat(abs(int(size)))}"


def check_postgresql() -> str:
    try:
        applied = set(MigrationRecorder(connection).migration_qs.values_list("app", "name"))
    except ProgrammingError:  # an empty database, without even the table of migrations
        applied = set()
    except DatabaseError as error:
        return f"no answer: {type(error).__name__}"
    pending = _known_migrations() - applied
    return f"{len(pending)} migrations are to be run" if pending else OK


@cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    """The migrations of this version. They are read once, since `/readyz` is public and has no rate
    limit.
    """
    return frozenset(MigrationLoader(None).graph.nodes)


def check_pools() -> str:
    return " ".join(missing_unit_sentences()) or OK


def check_redis() -> str:
    try:
        django_rq.get_connection(SHIFTS).ping()
    except RedisError as error:
        return _no_answer_sentence(error)
    return OK


def _no_answer_sentence(error: RedisError) -> str:
    return f"no answer: {type(error).__name__}"


def check_workers() -> str:
    count = live_workers()
    return f"{count} {AT_WORK}" if count else "none: no crawl continues"


def check_dns_resolver() -> str:
    """Whether hosts get their addresses and, if so configured, ahead of need."""
    if are_servers_silent():
        return "no name server answers"
    if settings.DNS_AHEAD != "off" and not is_any_taken():
        return "the pre-resolver is not running: crawls wait for their names"
    return OK


def check_scheduler() -> str:
    return OK if has_leader() else "none: no crawl starts"
