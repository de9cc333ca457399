"""Turns DATABASE_URL into Django's setting."""

from __future__ import annotations

from typing import Any

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from crawlsite.env import BadSetting

NAMES = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}


def database_setting(url: str) -> dict[str, Any]:
    """Return the DATABASES entry of a libpq address; what Django has no key for goes into OPTIONS.

    Raises BadSetting if libpq cannot read it.
    """
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise BadSetting(f"DATABASE_URL: {str(error).strip()}") from error
    named = {NAMES[key]: str(value) for key, value in parts.items() if key in NAMES}
    # Django's own statements are never prepared; those of the bank that bind in the server are, from the sixth time on.
    options = {"prepare_threshold": 5} | {key: value for key, value in parts.items() if key not in NAMES}
    return {"ENGINE": "django.db.backends.postgresql", **named, "OPTIONS": options}
