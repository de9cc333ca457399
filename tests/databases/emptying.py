"""Empties the database after a test that committed, by deleting the few rows that exist, where
Django truncates every table.
"""

from __future__ import annotations

from functools import cache

from django.db import connection

#: tables that migrations and Django itself filled once and that are not written afterwards
KEPT = {"django_migrations", "django_content_type", "auth_permission"}

#: The lock waits, as TRUNCATE would, for a transaction that a killed program left behind. In the
#: role of a replica neither foreign keys nor the ledger's trigger are checked; only a superuser may
#: take this role. A table that has grown is truncated, since every later query would have to pass
#: its dead rows.
EMPTY = """
DO $$
DECLARE name text;
BEGIN
    LOCK TABLE {tables} IN EXCLUSIVE MODE;
    SET LOCAL session_replication_role = replica;
    FOREACH name IN ARRAY string_to_array('{tables}', ', ') LOOP
        IF pg_relation_size(name::regclass) > 256 * 1024 THEN
            EXECUTE 'TRUNCATE ' || name || ' CASCADE';
        ELSIF pg_relation_size(name::regclass) > 0 THEN
            EXECUTE 'DELETE FROM ' || name;
        END IF;
    END LOOP;
END $$
"""


def empty_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute(EMPTY.format(tables=tables()))


@cache
def tables() -> str:
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return ", ".join(sorted(connection.ops.quote_name(name) for name in set(names) - KEPT))
