"""The lock that every write to a run's part of the frontier takes first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from crawling.models import Run

#: whoever waits for a run's row for longer is told so
PATIENCE = "10s"


@contextmanager
def locked_run(run_id: int) -> Iterator[Run]:
    """Hold the run's row until the block ends, which is one transaction; yields it as it stands under the lock."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            # A horse that stands still (SIGSTOP, a frozen machine) must not keep the run from all others for ever.
            cursor.execute(
                "SELECT set_config('lock_timeout', %s, true), set_config('idle_in_transaction_session_timeout', '5s', true)", [PATIENCE]
            )
        yield Run.objects.select_for_update(no_key=True).get(pk=run_id)
