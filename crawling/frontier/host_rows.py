"""Hosts as they are first met, each with the name that DNS is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.backends.utils import CursorWrapper

from crawling.web.addresses import dns_name

ADD_HOSTS = (
    "INSERT INTO crawling_host (name, dns_name) SELECT * FROM unnest(%s::text[], %s::text[]) "
    "ON CONFLICT (name) DO NOTHING"
)


def add_hosts(cursor: CursorWrapper, names: Sequence[str]) -> None:
    """Add those of the hosts that are new.

    Pass the names sorted, so that two transactions never wait for each other.
    """
    cursor.execute(ADD_HOSTS, [list(names), [dns_name(name) for name in names]])
