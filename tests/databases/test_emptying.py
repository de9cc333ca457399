"""After a test that committed, the next one finds a database as the migrations left it, but for
their rows.
"""

import pytest
from django.contrib.auth.models import Permission
from django.db import connection

from allocation.models import Event
from allocation.services import NewClass, create_pool
from tests.databases.emptying import empty_database, tables


def rows() -> int:
    counts = " UNION ALL ".join(f"SELECT count(*) FROM {table}" for table in tables().split(", "))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT sum(count)::int FROM ({counts}) AS counts")
        return cursor.fetchone()[0]


@pytest.mark.parametrize("groups", [0, 9_000], ids=["few are deleted", "many are truncated"])
@pytest.mark.django_db(transaction=True)
def test_nothing_is_left_of_a_pool_and_its_ledger_which_is_append_only(groups):
    pool = create_pool(name="default", classes=[NewClass("worker", "worker", "Workers", 4)])
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO auth_group (name) SELECT 'group ' || number "
            "FROM generate_series(1, %s) AS number",
            [groups],
        )
    assert Event.objects.filter(pool=pool).exists()

    empty_database()

    assert rows() == 0
    assert Permission.objects.exists()
