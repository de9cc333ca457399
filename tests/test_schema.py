"""The tables are those of the models: every constraint and index that a model names is there."""

from __future__ import annotations

from django.apps import apps
from django.db import connection

THERE = """
SELECT conname::text FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION SELECT relname::text FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'i'
"""


def test_every_constraint_and_index_of_a_model_is_in_the_database(db):
    """Django drops a unique index together with that of a foreign key, if both are of one
    column."""
    models = [model for model in apps.get_models() if model._meta.managed]
    named = {
        rule.name for model in models for rule in (*model._meta.indexes, *model._meta.constraints)
    }
    with connection.cursor() as cursor:
        cursor.execute(THERE)
        there = {name for (name,) in cursor.fetchall()}

    assert named <= there
