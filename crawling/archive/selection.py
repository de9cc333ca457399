"""A WARC file of some pages: their unchanged records, and the records that have their payloads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from uuid import uuid4

from django.db.models import Exists, OuterRef, QuerySet
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from crawling.archive.reader import (
    RENDITIONS,
    CommittedBytes,
    further_records,
    open_file_from,
    original_of,
    packed_pieces,
    packed_record,
    pieces,
    rendition_of,
)
from crawling.archive.records import WarcRecord, gzip_member, warcinfo_record
from crawling.base.errors import ArchiveTrouble
from crawling.machine.eviction import forget_oldest
from crawling.models import ArchiveFile, Page, Run

#: the records that follow a page's record and belong to it
COMPANIONS = ("request", "metadata")
#: the most records of shared payloads that are remembered, so that each is written once
MOST_REMEMBERED = 10_000
#: pages whose further records are looked up at once
AT_A_TIME = 500
FOREIGN = "payloads in archives of other runs, to which revisit records of this run refer"


def local_files(run: Run) -> list[ArchiveFile]:
    """The run's files. Raises ArchiveTrouble if one is on another machine, or there is none."""
    files = list(ArchiveFile.objects.filter(run=run, committed_length__gt=0).order_by("pk"))
    if not files:
        raise ArchiveTrouble(f"Nothing of run {run.number} is archived.")
    for file in files:
        open_file_from(file).close()
    return files


def referring_runs(runs: Collection[int]) -> set[int]:
    """Those runs among `runs` whose records refer to payloads in archives of other runs. The files
    of these runs are not complete by themselves.
    """
    references = Page.objects.filter(run=OuterRef("pk"), payload_from__isnull=False)
    found = Run.all_objects.filter(Exists(references), pk__in=runs)
    return set(found.values_list("pk", flat=True))


def foreign_payloads(*runs: Run) -> QuerySet[Page]:
    """The pages of other runs whose records have payloads that these runs refer to.

    Raises ArchiveTrouble if such a page is in a file on another machine.
    """
    wanted = Page.objects.filter(run__in=runs, payload_from__isnull=False).values("payload_from")
    pages = Page.objects.filter(pk__in=wanted, is_revisit=False, archive_file__isnull=False)
    pages = pages.exclude(run__in=runs)
    for file in ArchiveFile.objects.filter(pk__in=pages.values("archive_file")):
        open_file_from(file).close()
    return pages.select_related("archive_file").order_by("archive_file", "archive_offset")


def runs_with(payloads: QuerySet[Page]) -> list[int]:
    return sorted(set(payloads.order_by().values_list("run", flat=True)))


def warc_of_run(
    files: Iterable[ArchiveFile], foreign: Iterable[Page], *, name: str, facts: Mapping[str, str]
) -> Iterator[bytes]:
    """A WARC file that is complete by itself: the records of other runs that have payloads of this
    run, and the committed bytes of each file.
    """
    is_first = True
    for page in foreign:
        if is_first:
            yield from gzip_member(_info_record(name, {**facts, "description": FOREIGN}))
            is_first = False
        yield from packed_record(page)
    for file in files:
        yield from packed_pieces(file)


def _info_record(name: str, facts: Mapping[str, str]) -> WarcRecord:
    return warcinfo_record(
        f"<urn:uuid:{uuid4()}>", at=datetime.now(UTC), file_name=name, facts=facts
    )


def warc_of(pages: Iterable[Page], *, name: str, facts: Mapping[str, str]) -> Iterator[bytes]:
    """A WARC file of this name with the archived pages. Memory is bounded for any number of pages.

    If a page's payload is in another page's record, that record comes first, so that the file is
    complete by itself. Raises ArchiveTrouble midway if a file cannot be read, so that the download
    breaks off and does not seem complete.
    """
    yield from gzip_member(_info_record(name, facts))
    lately: dict[tuple[int | None, int | None], None] = {}
    for page in _with_further(pages):
        if page.archive_file is None:
            continue
        for one in (original_of(page), page):
            place = one.archive_file_id, one.archive_offset
            if place not in lately:
                lately[place] = None
                # an import has its further records in its own run
                yield from exchange_of(one) if one.run_id == page.run_id else packed_record(one)
        for made in filter(None, (rendition_of(page, kind) for kind in RENDITIONS)):
            yield from packed_record(made)
        forget_oldest(lately, MOST_REMEMBERED)


def _with_further(pages: Iterable[Page]) -> Iterator[Page]:
    """The pages, each preceded by the further records that an import has for its URL."""
    source = iter(pages)
    while some := list(islice(source, AT_A_TIME)):
        further = further_records(some)
        for page in some:
            yield from further.get(page.pk, ())
            yield page


def exchange_of(page: Page) -> Iterator[bytes]:
    """The records of an archived page: the answer, the request, and the crawl's notes.

    Raises ArchiveTrouble.
    """
    row, begin, length = page.archive_file, page.archive_offset or 0, page.archive_length or 0
    assert row is not None
    with open_file_from(row, begin + length) as file:
        length += _companions(CommittedBytes(file, row.committed_length - begin - length), row.name)
        file.seek(begin)
        yield from pieces(CommittedBytes(file, length))


def _companions(rest: CommittedBytes, name: str) -> int:
    """The number of further bytes that belong to the page whose record ends where `rest` begins."""
    # answers of later pages in the file are skipped here
    records, length = ArchiveIterator(rest, no_record_parse=True), 0
    try:
        for record in records:
            is_companion = record.rec_headers.get_header("WARC-Concurrent-To")
            if record.rec_type not in COMPANIONS or not is_companion:
                break
            length = records.get_record_offset() + records.get_record_length()
    except ArchiveLoadFailed as error:
        raise ArchiveTrouble(f"{name} is damaged: {error}") from error
    return length
