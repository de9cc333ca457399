"""Rewrites a file of the archive: some of its records are removed, others are added at its end, and
all other records stay where they are. The new file has a new name and, like every file, its row is
written before it. That row has no run until the new file replaces the old one in one transaction.
So after any crash exactly one of the two files has a run, and the other one is removed like the
files of deleted runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from uuid import uuid4

from django.db import transaction
from django.db.models.functions import Now
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from crawling.archive.files import deletions_held, this_machine
from crawling.archive.moved_exchanges import MovedExchanges
from crawling.archive.reader import CommittedBytes, open_file_from, pieces
from crawling.archive.removed_records import TooNarrow, filler_member
from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import storage
from crawling.models import ArchiveFile

#: the end of the name of a rewritten file: the number of times that the file was rewritten
REWRITTEN = re.compile(r"(?:[.]r([0-9]{1,6}))?[.]warc[.]gz$")
#: the targets of records that browsers and crawlers derive from a page
DERIVED = re.compile(
    r"(?:urn:[A-Za-z0-9-]{1,40}|screenshot|thumbnail|metadata):(https?:.+)", re.IGNORECASE
)
Ranges = Sequence[tuple[int, int]]


def ranges_of(
    row: ArchiveFile, length: int, is_removed: Callable[[str], bool]
) -> list[tuple[int, int]]:
    """The ranges of the records with a URL for which `is_removed` is true, and of records that were
    derived from such a page, in the first `length` bytes of a file. Adjacent ranges are joined.

    Raises ArchiveTrouble.
    """
    found: list[tuple[int, int]] = []
    with open_file_from(row) as file:
        records = ArchiveIterator(CommittedBytes(file, length), no_record_parse=True)
        try:
            for record in records:
                url = record.rec_headers.get_header("WARC-Target-URI") or ""
                begin = records.get_record_offset()
                end = begin + records.get_record_length()
                if url and (is_removed(url) or is_removed(url_of_page(url))):
                    found.append((begin, end))
        except ArchiveLoadFailed as error:
            raise ArchiveTrouble(f"{row.name} is damaged: {error}") from error
    return joined_ranges(found)


def url_of_page(target: str) -> str:
    """The URL of the page from which a record was derived, as its target says: a picture or the
    text of a page (Browsertrix, brozzler). For other records their target.
    """
    found = DERIVED.fullmatch(target)
    return found[1] if found else target


def joined_ranges(ranges: Ranges) -> list[tuple[int, int]]:
    """The ranges in order. Ranges that touch or overlap are joined into one."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def rewrite(
    row: ArchiveFile,
    removed: Ranges,
    moved: MovedExchanges | None,
    switched: Callable[[], object],
) -> None:
    """Rewrite a sealed file on this machine.

    switched: called in the transaction in which the new file replaces the old one. Raises
    ArchiveTrouble, OSError.
    """
    name, old_name = _next_name(row.name), row.name
    with deletions_held():
        # left by an attempt that was killed
        ArchiveFile.objects.filter(name=name, run=None).delete()
        new = ArchiveFile.objects.create(run=None, name=name, machine=this_machine(), slot=row.slot)
        length = storage().put(new.stored_name, _pieces(row, joined_ranges(removed), moved))
        with transaction.atomic():
            new.delete()
            ArchiveFile.objects.filter(pk=row.pk).update(
                name=name, machine=this_machine(), committed_length=length, parts=[]
            )
            ArchiveFile.objects.create(
                run=None,
                name=old_name,
                machine=row.machine,
                slot=row.slot,
                parts=row.parts,
                committed_length=row.committed_length,
                sealed_at=Now(),
            )
            switched()


def _next_name(name: str) -> str:
    found = REWRITTEN.search(name)
    assert found
    return f"{name[: found.start()]}.r{int(found[1] or 0) + 1}.warc.gz"


def _pieces(row: ArchiveFile, removed: Ranges, moved: MovedExchanges | None) -> Iterator[bytes]:
    edges = [(0, 0), *removed, (row.committed_length, row.committed_length)]
    for (begin, kept_from), (kept_to, _) in pairwise(edges):
        if kept_from > begin:
            yield from _filler(row, kept_from - begin)
        with open_file_from(row, kept_from) as file:
            yield from pieces(CommittedBytes(file, kept_to - kept_from))
    if moved:
        yield from moved.pieces(row.committed_length)


def _filler(row: ArchiveFile, length: int) -> Iterator[bytes]:
    try:
        return filler_member(length, f"<urn:uuid:{uuid4()}>", datetime.now(UTC))
    except TooNarrow as error:
        raise ArchiveTrouble(f"{row.name}: {error}.") from error
