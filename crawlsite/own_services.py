"""Where this site's own services listen, so that no crawl is ever led to them."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from psycopg.conninfo import conninfo_to_dict

from crawlsite.env import Environment


def own_services(environment: Environment) -> frozenset[tuple[str, int]]:
    """Return (address, port) of the web server, PostgreSQL and Redis; those on a Unix socket have
    none.

    A name is resolved once, at the start; one that cannot be is left out, since nothing is served
    there.
    """
    database = conninfo_to_dict(environment.database_url)
    redis = urlsplit(environment.redis_url)
    services = [
        (environment.host, environment.port),
        (str(database.get("host") or ""), int(database.get("port") or 5432)),
        (redis.hostname or "", redis.port or 6379),
    ]
    return frozenset(
        (address, port) for host, port in services for address in _addresses(host, port)
    )


def _addresses(host: str, port: int) -> set[str]:
    if not host or host.startswith("/"):
        return set()
    try:
        return {
            str(found[4][0]) for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        }
    except socket.gaierror:
        return set()
