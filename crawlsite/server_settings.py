"""Turns the addresses of servers into settings: of the database and the mail server into Django's
settings, and of all our own services into a list of addresses that a crawl never fetches from.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from itertools import cycle
from typing import Any
from urllib.parse import unquote, urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from crawlsite.env import BadSetting, Environment

NAMES = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}


#: The time limit of a connection is a share of a lease, or of an hour if the lease is longer.
LONGEST_LEASE_SECONDS = 3600.0
#: the usual port of each scheme; `smtps` uses TLS from the first byte, `smtp+tls` requests TLS
#: (STARTTLS) and sends nothing without it
PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


def database_setting(url: str, *, lease_seconds: float, is_pooled: bool) -> dict[str, Any]:
    """Return the DATABASES entry of a libpq address; parameters without a key in Django go into
    OPTIONS.

    A server that no longer answers is given up within half a lease, unless the address says
    otherwise (PostgreSQL manual, 34.1.2). Raises BadSetting if libpq cannot read the address.

    is_pooled: the address is a pooler's, which gives each transaction another session, so nothing
    may be left in one.
    """
    parts = _read_address("DATABASE_URL", url)
    named = {NAMES[key]: str(value) for key, value in parts.items() if key in NAMES}
    # Django's own statements are never prepared; those of the pool that bind in the server are
    # prepared from the sixth time on.
    options = {
        "prepare_threshold": None if is_pooled else 5,
        **_time_limits(min(lease_seconds, LONGEST_LEASE_SECONDS)),
    } | {key: value for key, value in parts.items() if key not in NAMES}
    return {
        "ENGINE": "django.db.backends.postgresql",
        **named,
        "OPTIONS": options,
        "DISABLE_SERVER_SIDE_CURSORS": is_pooled,
    }


def session_parameters(url: str, *, lease_seconds: float) -> dict[str, Any]:
    """The parameters of psycopg for PostgreSQL itself, past a pooler; none if the address is empty,
    since then DATABASE_URL is PostgreSQL's own. Raises BadSetting.
    """
    if not url:
        return {}
    limits = _time_limits(min(lease_seconds, LONGEST_LEASE_SECONDS))
    return {**limits, **_read_address("DATABASE_DIRECT_URL", url)}


def _read_address(variable: str, url: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(url))
    except ProgrammingError as error:
        raise BadSetting(f"{variable}: {str(error).strip()}") from error


def _time_limits(lease_seconds: float) -> dict[str, int]:
    """The time limits for libpq; a connection over a Unix socket ignores those of TCP."""
    return {
        "connect_timeout": max(2, int(lease_seconds / 4)),
        "keepalives_idle": max(1, int(lease_seconds / 6)),
        "keepalives_interval": max(1, int(lease_seconds / 12)),
        "keepalives_count": 3,
        "tcp_user_timeout": int(lease_seconds * 1000 / 2),
    }


def own_service_addresses(environment: Environment) -> frozenset[tuple[str, int]]:
    """The address and port of each web server, of PostgreSQL and of Redis; a server on a Unix
    socket has none.

    A name is resolved once, at the start; a name that cannot be resolved is left out, since no
    server can be reached by it. Raises BadSetting for a port that is not a number.
    """
    redis = urlsplit(environment.redis_url)
    services = [
        (environment.host, environment.port),
        (environment.host, environment.replay_port),
        *_servers_of("DATABASE_URL", environment.database_url),
        *_servers_of("DATABASE_DIRECT_URL", environment.database_direct_url),
        (redis.hostname or "", redis.port or 6379),
    ]
    return frozenset(
        (address, port) for host, port in services for address in _resolved_addresses(host, port)
    )


def _servers_of(variable: str, url: str) -> list[tuple[str, int]]:
    """The host and port of each server that libpq may try (PostgreSQL manual, 34.1.1.3): one port
    counts for all, or each server has its own.
    """
    parts = conninfo_to_dict(url)
    hosts, ports = str(parts.get("host") or ""), str(parts.get("port") or 5432)
    try:
        numbers = [int(port or 5432) for port in ports.split(",")]
    except ValueError as error:
        raise BadSetting(f"{variable}: the port {ports!r} is not a number") from error
    return list(zip(hosts.split(","), cycle(numbers), strict=False))


def _resolved_addresses(host: str, port: int) -> set[str]:
    if not host or host.startswith("/"):
        return set()
    try:
        return {
            str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        }
    except socket.gaierror:
        return set()


@dataclass(frozen=True)
class MailServer:
    """The mail server; there is none if the host is empty."""

    host: str = ""
    port: int = 0
    user: str = ""
    password: str = ""
    use_ssl: bool = False
    use_tls: bool = False


def mail_server(url: str) -> MailServer:
    """The mail server at `smtp://user:password@host:port`, an address that `crawlsite.env` has
    checked; without a host if the address is empty.
    """
    if not url:
        return MailServer()
    parts = urlsplit(url)
    return MailServer(
        host=parts.hostname or "",
        port=parts.port or PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        use_ssl=parts.scheme == "smtps",
        use_tls=parts.scheme == "smtp+tls",
    )
