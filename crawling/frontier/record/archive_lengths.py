"""How much of an archive's file counts: what its records' rows were committed with."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import connection

from crawling.frontier.run_lock import locked_run
from crawling.models import Shift

COMMIT_LENGTHS = """
UPDATE crawling_archivefile f SET committed_length = greatest(f.committed_length, written.length)
FROM unnest(%s::bigint[], %s::bigint[]) AS written(id, length) WHERE f.id = written.id
"""


def commit_lengths(lengths: Mapping[int, int]) -> None:
    """Let so much of each file count, by its id.

    The caller's transaction has the rows of all that is in it.
    """
    if lengths:
        with connection.cursor() as cursor:
            cursor.execute(COMMIT_LENGTHS, [list(lengths.keys()), list(lengths.values())])


def commit_lengths_alone(shift: Shift, lengths: Mapping[int, int]) -> None:
    """The same of records without rows, like those of robots.txt.

    Of a shift whose books are closed nothing counts any more: what else it has written is nobody's.
    """
    with locked_run(shift.process.run_id):
        if Shift.objects.filter(pk=shift.pk, ended_at=None).exists():
            commit_lengths(lengths)
