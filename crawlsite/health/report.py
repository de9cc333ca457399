"""The whole installation in numbers, for people (`/health/`) and for programs: servers, queues,
workers, disk, clock, versions and extensions.

`/healthz` shows that this process answers, `/readyz` that everything it needs answers, too.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from threading import Lock
from time import monotonic

import django_rq
from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError

from crawling.jobs.rq_jobs import SHIFTS
from crawling.runs.extensions import installed_extensions
from crawling.web.extensions import Extension
from crawlsite import service_addresses
from crawlsite.env import Environment
from crawlsite.health import probes
from crawlsite.health.browsers import BrowserReport, browser_report
from crawlsite.health.probes import OK, ComponentHealth, component_health
from crawlsite.health.workers import QueueRow, WorkerRow, queue_rows, worker_rows
from crawlsite.tokens import find_token, token_in_request
from serving.access import AuthenticatedRequest, authenticated
from serving.requests import render_live

#: the difference between two clocks from which it is reported, since leases and delays are counted
#: on both machines
CLOCK_SECONDS = 2.0
PACKAGES = ("django", "psycopg", "rq", "redis")
DATABASE = """
SELECT current_setting('server_version'), pg_database_size(current_database()),
    pg_postmaster_start_time(), clock_timestamp(),
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
           current_setting('max_connections')::int
"""
#: the seconds for which an answer of `/readyz` is reused
KEPT_SECONDS = 1.0
#: the answer for requests without a log-in, in place of a sentence with numbers
NOT_READY = "not ready"
_asking = Lock()
_told: tuple[float, dict[str, str], int] = (-KEPT_SECONDS, {}, 503)


@dataclass(frozen=True)
class Server:
    """PostgreSQL or Redis."""

    name: str
    version: str
    is_embedded: bool
    #: the directory of its data, if the server is an embedded one
    place: str
    began: datetime
    bytes: int
    #: the number of connections in use and, if known, the limit
    connections: int
    most_connections: int | None
    #: the seconds by which its clock is ahead of this machine's, to within the time of one query
    clock_ahead: float

    @property
    def is_clock_off(self) -> bool:
        return abs(self.clock_ahead) > CLOCK_SECONDS


@dataclass(frozen=True)
class SystemReport:
    at: datetime
    parts: list[ComponentHealth]
    servers: list[Server]
    queues: list[QueueRow]
    workers: list[WorkerRow]
    browsers: BrowserReport
    versions: dict[str, str]
    #: the parts that installed packages add to the crawler, as this process finds them
    extensions: list[Extension]
    #: the reason why the facts about Redis are missing
    trouble: str = ""


def system_report() -> SystemReport:
    """The current state of all parts.

    If Redis does not answer, this is reported. Without PostgreSQL there is no page at all.
    """
    told, servers = component_health(), [_postgresql_server(settings.ENVIRONMENT)]
    versions, added, browsers = _package_versions(), installed_extensions(), browser_report()
    try:
        servers.append(_redis_server(settings.ENVIRONMENT))
        queues, workers = queue_rows(), worker_rows()
        return SystemReport(
            datetime.now(UTC), told, servers, queues, workers, browsers, versions, added
        )
    except RedisError as error:
        trouble = (
            f"Redis gives no answer ({type(error).__name__}), so workers cannot be listed. Check "
            f"REDIS_URL."
        )
        return SystemReport(
            datetime.now(UTC), told, servers, [], [], browsers, versions, added, trouble
        )


def _postgresql_server(environment: Environment) -> Server:
    with connection.cursor() as cursor:
        asked = datetime.now(UTC)
        cursor.execute(DATABASE)
        release, size, began, now, connections, most = cursor.fetchone()
    is_embedded = environment.database_url == service_addresses.database_url(environment.state_dir)
    place = str(environment.state_dir / f"pg{release.split('.')[0]}") if is_embedded else ""
    return Server(
        "PostgreSQL",
        release.split()[0],
        is_embedded,
        place,
        began,
        size,
        connections,
        most,
        _seconds_ahead(now, asked),
    )


def _redis_server(environment: Environment) -> Server:
    redis = django_rq.get_connection(SHIFTS)
    asked = datetime.now(UTC)
    seconds, microseconds = redis.time()
    told = redis.info()
    now = datetime.fromtimestamp(seconds + microseconds / 1e6, UTC)
    is_embedded = environment.redis_url == service_addresses.redis_url(environment.state_dir)
    return Server(
        name="Valkey" if "valkey_version" in told else "Redis",
        version=told.get("valkey_version") or told["redis_version"],
        is_embedded=is_embedded,
        place=str(environment.state_dir / "valkey") if is_embedded else "",
        began=datetime.fromtimestamp(now.timestamp() - told["uptime_in_seconds"], UTC),
        bytes=told["used_memory"],
        connections=told["connected_clients"],
        most_connections=told.get("maxclients"),
        clock_ahead=_seconds_ahead(now, asked),
    )


def _seconds_ahead(now: datetime, asked: datetime) -> float:
    """The seconds by which a server's clock is ahead: it showed `now` between `asked` and the
    present; 0 if it may be right.
    """
    return min((now - asked).total_seconds(), 0.0) or max(
        (now - datetime.now(UTC)).total_seconds(), 0.0
    )


def _package_versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"{OK}\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 503 unless PostgreSQL, its tables, Redis and the pools can be used.

    Workers and scheduler are reported, but pages work without them. Only users see numbers and
    names of pools, by a session or a token. A request from loopback is not trusted, since a proxy
    sends its requests from there.

    This page is public and has no rate limit. An answer is reused for KEPT_SECONDS, so that many
    requests cost little.
    """
    global _told
    with _asking:
        at, told, status = _told
        if monotonic() - at >= KEPT_SECONDS:
            told, status = _readiness()
            _told = monotonic(), told, status
    return JsonResponse(told if _may_see_details(request) else _public_states(told), status=status)


def _may_see_details(request: HttpRequest) -> bool:
    token = token_in_request(request)
    try:
        if token is None:
            return request.user.has_perm("crawling.view_crawljob")
        found = find_token(token)
        return found is not None and found.user.has_perm("crawling.view_crawljob")
    except DatabaseError:  # the answer may be about exactly this
        return False


def _public_states(told: dict[str, str]) -> dict[str, str]:
    public = told | {"workers": OK if told["workers"].endswith(probes.AT_WORK) else told["workers"]}
    return {
        name: NOT_READY if any(map(str.isdigit, state)) else state for name, state in public.items()
    }


def _readiness() -> tuple[dict[str, str], int]:
    needed = {"postgresql": probes.check_postgresql(), "redis": probes.check_redis()}
    needed["pools"] = probes.check_pools() if needed["postgresql"] == OK else "unknown"
    told = {
        **needed,
        "workers": probes.check_workers() if needed["redis"] == OK else "unknown",
        "scheduler": probes.check_scheduler() if needed["postgresql"] == OK else "unknown",
    }
    return told, 200 if all(state == OK for state in needed.values()) else 503


@authenticated(needs="crawling.view_crawljob")
def health(request: AuthenticatedRequest) -> HttpResponse:
    return render_live(
        request, "health/health.html", "health/_health.html", {"report": system_report()}
    )
