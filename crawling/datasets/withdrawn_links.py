"""Removes the links of withdrawn pages from the parts of the dataset. The files of a second reading
are named after the part. A rewritten part has a new name, so it is read again when its findings are
needed.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import storage
from crawling.datasets.parquet import put_part_without
from crawling.datasets.parts import note_part_rewritten
from crawling.datasets.progress import read_parts_later
from crawling.models import LinksPart


def remove_links(pages: Mapping[int, int | None]) -> None:
    """Rewrite the parts that have links of these pages. Safe to repeat.

    pages: the id of the part of each page. Raises ArchiveTrouble if a part is on another machine.
    """
    parts = LinksPart.objects.filter(
        pk__in={part for part in pages.values() if part}, run__isnull=False
    )
    for part in parts.order_by("pk"):
        if part.collected_at and not part.written_at:
            raise ArchiveTrouble(f"{part.name} is not written yet by {part.machine}.")
        if not part.written_at:
            continue
        if not part.links:
            read_parts_later([part.pk])
            for one in part.reading_names:
                storage().delete(one)
            continue
        if storage().size(part.name) is None:
            raise ArchiveTrouble(f"{part.name} is on {part.machine}.")
        name = f"{part.name.partition('/')[0]}/{uuid.uuid4().hex}.parquet"
        links, size = put_part_without(part.name, list(pages), name)
        note_part_rewritten(part, name=name, links=links, size=size)
