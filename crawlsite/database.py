"""Turns DATABASE_URL into Django's setting."""

from __future__ import annotations

from typing import Any

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from crawlsite.env import BadSetting

NAMES = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}


#: what a connection may take is a part of a lease, and of an hour where that is longer
LONGEST_LEASE_SECONDS = 3600.0


def database_setting(url: str, *, lease_seconds: float) -> dict[str, Any]:
    """Return the DATABASES entry of a libpq address; what Django has no key for goes into OPTIONS.

    A server that has gone silent is given up within half a lease, unless the address says otherwise
    (PostgreSQL manual, 34.1.2). Raises BadSetting if libpq cannot read it.
    """
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise BadSetting(f"DATABASE_URL: {str(error).strip()}") from error
    named = {NAMES[key]: str(value) for key, value in parts.items() if key in NAMES}
    # Django's own statements are never prepared; those of the bank that bind in the server are,
    # from the sixth time on.
    options = {
        "prepare_threshold": 5,
        **_time_limits(min(lease_seconds, LONGEST_LEASE_SECONDS)),
    } | {key: value for key, value in parts.items() if key not in NAMES}
    return {"ENGINE": "django.db.backends.postgresql", **named, "OPTIONS": options}


def _time_limits(lease_seconds: float) -> dict[str, int]:
    """libpq's; sockets of this machine have no use for those of TCP."""
    return {
        "connect_timeout": max(2, int(lease_seconds / 4)),
        "keepalives_idle": max(1, int(lease_seconds / 6)),
        "keepalives_interval": max(1, int(lease_seconds / 12)),
        "keepalives_count": 3,
        "tcp_user_timeout": int(lease_seconds * 1000 / 2),
    }
