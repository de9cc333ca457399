"""The progress of data derived from parts: the second reading of their pages, and the search
index.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet
from django.db.models.functions import Now

from crawling.datasets.parts import parts_here
from crawling.models import LinksPart, Run


def parts_to_read() -> QuerySet[LinksPart]:
    """The parts of this machine whose pages have not been read again yet."""
    return parts_here().filter(written_at__isnull=False, read_at=None)


def unread_parts(run: Run) -> QuerySet[LinksPart]:
    """The parts of a run, on this machine, whose pages have not been read again yet."""
    return parts_to_read().filter(run=run)


def note_part_read(part: LinksPart, *, is_whole: bool) -> bool:
    """Note that a part was read again. If pages are missing (not `is_whole`), it stays unread.
    Return False if meanwhile the run was deleted, its pages must be read again, or some of them
    were withdrawn.
    """
    same = LinksPart.objects.filter(pk=part.pk, run=part.run_id, name=part.name)
    return bool(same.update(read_at=Now() if is_whole else None, indexed_at=None))


def read_parts_later(parts: Iterable[int]) -> None:
    """Let these parts be read once more for the pages that were missing at their second reading."""
    LinksPart.objects.filter(pk__in=parts, run__isnull=False).update(read_at=None, indexed_at=None)


def unindexed_parts() -> QuerySet[LinksPart]:
    """Parts of this machine that were read again and are not in the search index."""
    return parts_here().filter(read_at__isnull=False, indexed_at=None, run__isnull=False)


def note_part_indexed(part: LinksPart) -> bool:
    """Note that a part is in the search index. Return False if it was read again since, or no
    longer exists.
    """
    same = LinksPart.objects.filter(pk=part.pk, name=part.name, read_at=part.read_at)
    return bool(same.update(indexed_at=Now()))


def note_part_unread(part: LinksPart) -> None:
    """Let the pages of a part be read again, since the files of its second reading are lost."""
    same = LinksPart.objects.filter(pk=part.pk, name=part.name)
    same.update(read_at=None, indexed_at=None)


def abandoned_parts() -> QuerySet[LinksPart]:
    """The parts that are still in the index although their runs are deleted, or their pages are in
    other parts.
    """
    return parts_here().filter(run=None, indexed_at__isnull=False)


def note_parts_unindexed(parts: QuerySet[LinksPart]) -> None:
    """Note that these parts are not in the search index any more."""
    parts.update(indexed_at=None)


def unread_runs() -> set[int]:
    """The ids of runs that have pages on this machine without a second reading."""
    parts = parts_here().filter(read_at=None, written_at__isnull=False, run__isnull=False)
    return set(parts.filter(run__removal_asked_at=None).values_list("run", flat=True))
