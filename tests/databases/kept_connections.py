"""Connections to the test database, kept for the next test, job or thread that opens one.

Each new connection costs the server a process that has to load the descriptions of all tables. A
job closes the connections that it finds and opens its own, since in the product it was forked, and
a thread closes its own as it ends: that makes thousands in a run of the suite.

Settings, locks and tables that a session has made for itself are gone when its connection is used
again; prepared statements stay, of which the client keeps a list.
"""

from __future__ import annotations

import os
from typing import Any

import psycopg
from django.db.backends.postgresql.base import DatabaseWrapper
from psycopg.pq import ExecStatus, TransactionStatus

MOST = 8
FORGET = b"RESET ROLE; RESET ALL; UNLISTEN *; DISCARD TEMP; SELECT pg_advisory_unlock_all()"
#: the values by which two connections are interchangeable
ADDRESS = ("host", "port", "dbname", "user", "options")

open_connection = DatabaseWrapper.get_new_connection
Kept = list[tuple[list[Any], psycopg.Connection[Any]]]


class KeptConnections:
    """The connections of this process; a process that was forked from it has none."""

    def __init__(self) -> None:
        self._owner, self._kept = os.getpid(), Kept()

    def take(self, params: dict[str, Any]) -> psycopg.Connection[Any] | None:
        """Take a connection to this address; None if there is none."""
        while self._owner == os.getpid() and self._kept:
            address, connection = self._kept.pop()
            if address == address_of(params) and is_alive(connection):
                return connection
            connection.close()
        return None

    def put(self, connection: psycopg.Connection[Any], params: dict[str, Any]) -> None:
        """Keep the connection, or close it if there are enough, or if a transaction is open."""
        is_mine = self._owner == os.getpid()
        if is_mine and len(self._kept) < MOST and forgets(connection):
            self._kept.append((address_of(params), connection))
        else:
            connection.close()

    def close(self) -> None:
        while self._kept:
            self._kept.pop()[1].close()


def address_of(params: dict[str, Any]) -> list[Any]:
    return [params.get(key) for key in ADDRESS]


def is_alive(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server has not ended the connection meanwhile."""
    try:
        connection.pgconn.consume_input()
    except psycopg.OperationalError:
        return False
    return not connection.broken


def forgets(connection: psycopg.Connection[Any]) -> bool:
    """Reset the session; return whether the connection is fit for others."""
    if connection.closed or connection.pgconn.transaction_status != TransactionStatus.IDLE:
        return False
    connection.isolation_level = connection.read_only = connection.deferrable = None
    return connection.pgconn.exec_(FORGET).status == ExecStatus.TUPLES_OK


KEPT = KeptConnections()


def take_or_open(wrapper: DatabaseWrapper, params: dict[str, Any]) -> psycopg.Connection[Any]:
    kept = KEPT.take(params)
    if kept is None:
        return open_connection(wrapper, params)
    wrapper.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    return kept


def keep_or_close(wrapper: DatabaseWrapper) -> None:
    if wrapper.connection is not None:
        KEPT.put(wrapper.connection, wrapper.get_connection_params())
