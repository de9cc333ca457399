"""The lock that each write to a run's part of the frontier takes first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, transaction
from django.db.models import Field, JSONField, Model

from crawling.models import CrawlJob, Run

#: after this time a wait for a run's row is an error
PATIENCE = "10s"
#: an idle transaction that holds the lock is ended after this time
LONGEST_IDLE = "5s"
M = TypeVar("M", bound=Model)


def _short_columns(model: type[Model], *but: str) -> list[Field[object, object]]:
    """The columns of a row that are read: all except long columns that are rarely needed."""
    return [field for field in model._meta.concrete_fields if field.name not in but]


RUN, CRAWL = _short_columns(Run), _short_columns(CrawlJob, "seeds")
#: Sent as one literal text, because the ORM takes longer to make these statements than a small
#: batch takes otherwise. A separate statement reads the order after the lock is taken, so that it
#: has all committed edits. A suspended work process (SIGSTOP, a frozen machine) must not keep all
#: others from the run for ever.
LOCK = f"""
SET LOCAL lock_timeout = %(patience)s; SET LOCAL idle_in_transaction_session_timeout = %(idle)s;
SELECT {", ".join(str(field.column) for field in RUN)} FROM crawling_run
WHERE id = %(run)s AND removal_asked_at IS NULL FOR NO KEY UPDATE;
SELECT {", ".join(f"c.{field.column}" for field in CRAWL)}
FROM crawling_crawljob c JOIN crawling_run r ON r.crawl_id = c.id WHERE r.id = %(run)s
"""  # noqa: S608  # constants


@contextmanager
def locked_run(run_id: int) -> Iterator[Run]:
    """Hold the lock on the run's row until the block ends; the block is one transaction. Yield the
    row, with its crawl, as read under the lock.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(LOCK, {"run": run_id, "patience": PATIENCE, "idle": LONGEST_IDLE})
            for _ in range(2):
                cursor.nextset()
            found = cursor.fetchone()
            cursor.nextset()
            if found is None:
                raise Run.DoesNotExist
            run = _row_as_model(Run, RUN, found)
            run.crawl = _row_as_model(CrawlJob, CRAWL, cursor.fetchone())
        yield run


def _row_as_model(
    model: type[M], fields: Sequence[Field[object, object]], row: Sequence[object]
) -> M:
    values = [
        json.loads(value) if isinstance(field, JSONField) and isinstance(value, str) else value
        for field, value in zip(fields, row, strict=True)
    ]
    return model.from_db(DEFAULT_DB_ALIAS, [field.attname for field in fields], values)
