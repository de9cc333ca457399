"""The records of a run's files that have no rows: the files that rendered pages have loaded, and
what the browser made of these pages. A replay program needs them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from http import HTTPStatus
from typing import NamedTuple

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.recordloader import ArcWarcRecord

from crawling.archive.reader import CommittedBytes, open_file_from
from crawling.base.errors import ArchiveTrouble
from crawling.models import ArchiveFile

#: the types of records that have a document of their own
ANSWERS = ("response", "resource")
#: a server may send any text as its status
VALID_CODES = frozenset(map(str, range(100, 1000)))


class PageFileRecord(NamedTuple):
    #: the fields of its header, by their names in lower case
    header: dict[str, str]
    status: int
    content_type: str
    offset: int
    length: int


def page_file_records(
    file: ArchiveFile, listed: Collection[int | None], withdrawn: Sequence[tuple[int, int]]
) -> Iterator[PageFileRecord]:
    """The records of answers to GET requests, and of renditions, except those at the offsets
    `listed` and in the ranges `withdrawn`. Reads the whole file once. Raises ArchiveTrouble.

    An answer to another method would be shown for a GET request of its URL, so it is left out.
    """
    with open_file_from(file) as source:
        records = ArchiveIterator(CommittedBytes(source, file.committed_length))
        held: PageFileRecord | None = None
        try:
            for record in records:
                if held and not _is_of_another_method(record, held):
                    yield held
                held = None
                offset = records.get_record_offset()
                is_gone = any(begin <= offset < end for begin, end in withdrawn)
                if record.rec_type in ANSWERS and offset not in listed and not is_gone:
                    held = _read(record, offset, records)
        except ArchiveLoadFailed as error:
            raise ArchiveTrouble(f"{file.name} is damaged: {error}") from error
        if held:
            yield held


def _is_of_another_method(record: ArcWarcRecord, answer: PageFileRecord) -> bool:
    """Whether a record has the request of the answer before it, and its method is not GET."""
    is_its_request = (
        record.rec_type == "request"
        and record.rec_headers.get_header("WARC-Target-URI") == answer.header["warc-target-uri"]
    )
    # the library has no head, None, for an empty record and for one of another scheme
    head = record.http_headers
    return is_its_request and head is not None and head.protocol != "GET"


def _read(record: ArcWarcRecord, offset: int, records: ArchiveIterator) -> PageFileRecord:
    header = {name.lower(): value for name, value in record.rec_headers.headers}
    status = int(HTTPStatus.OK)
    content_type = header.get("content-type", "")
    if record.rec_type == "response":
        status, content_type = _read_head(record)
    # its length is known once it is read
    length = records.get_record_length()
    kind = content_type.partition(";")[0].strip().lower()
    return PageFileRecord(header, status, kind, offset, length)


def _read_head(record: ArcWarcRecord) -> tuple[int, str]:
    head = record.http_headers
    if head is None:
        return 0, ""
    code = head.get_statuscode()
    return int(code) if code in VALID_CODES else 0, head.get_header("Content-Type") or ""
