"""The lock that every write to a run's part of the frontier takes first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from crawling.models import Run


@contextmanager
def locked_run(run_id: int) -> Iterator[Run]:
    """Hold the run's row until the block ends, which is one transaction; yields it as it stands under the lock."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '10s'")
        yield Run.objects.select_for_update(no_key=True).get(pk=run_id)
