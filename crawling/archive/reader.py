"""Reads the archive: one page's record by its place, or all records of a file.

Only committed bytes are read.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterator
from copy import copy
from typing import Any, BinaryIO

from django.db.models import QuerySet
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from crawling.archive.parts import open_stored
from crawling.archive.unpacker import (
    PIECE_BYTES,
    OpenRecord,
    StoredRecord,
    open_record,
    read_record,
)
from crawling.base.errors import ArchiveTrouble
from crawling.models import ArchiveFile, FurtherRecord, Page, WithdrawalFile, WithdrawnPage
from crawling.web.addresses import canonical_address
from crawling.web.links import surt
from crawling.web.statuses import NOT_MODIFIED_STATUS

#: the types of what a browser makes of a page
RENDITIONS = {
    "dom": "text/html",
    "text": "text/plain",
    "view": "image/jpeg",
    "thumbnail": "image/jpeg",
}


class CommittedBytes:
    """The committed bytes of a file, as a file object."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file, self.left = file, length

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(self.left if size < 0 else min(size, self.left))
        self.left -= len(piece)
        return piece

    def close(self) -> None:
        self._file.close()


def packed_record(page: Page) -> Iterator[bytes]:
    """The record's own gzip member, in pieces. Raises ArchiveTrouble if its file is not on this
    machine.
    """
    if page.archive_file is None or page.archive_offset is None or page.archive_length is None:
        raise ArchiveTrouble("This page was not archived.")
    with open_file_from(page.archive_file, page.archive_offset) as file:
        yield from pieces(CommittedBytes(file, page.archive_length))


def record_of(page: Page) -> StoredRecord:
    """Unpack a page's record. Never to be called in the web process. Raises ArchiveTrouble."""
    return read_record(b"".join(packed_record(page)))


def open_record_of(page: Page, most: int) -> OpenRecord:
    """Unpack a page's record up to `most` bytes. Only a small part is in memory.

    Raises ArchiveTrouble.
    """
    return open_record(packed_record(page), most)


def following_record(page: Page) -> bytes:
    """The block of the record that follows a page's record: the request that the page answered.

    Raises ArchiveTrouble.
    """
    assert page.archive_file is not None
    behind = (page.archive_offset or 0) + (page.archive_length or 0)
    with open_file_from(page.archive_file, behind) as file:
        try:
            raw = zlib.decompressobj(31).decompress(file.read(PIECE_BYTES), PIECE_BYTES)
        except zlib.error as error:
            raise ArchiveTrouble(
                f"The record of the request cannot be unpacked: {error}."
            ) from error
    header, _, block = raw.partition(b"\r\n\r\n")
    if b"WARC-Type: request" not in header:
        raise ArchiveTrouble("The record of the request is not where it should be.")
    return block[: int(header.rpartition(b"Content-Length: ")[2])]


def original_of(page: Page) -> Page:
    """The page whose record has the payload: the page itself, the first page of the run with the
    same payload, or a page of another run. For an import it may be a further record, which is
    returned as an unsaved `Page`.
    """
    if not page.is_revisit:
        return page
    stored = _with_payloads()
    if page.payload_from and (found := stored.filter(pk=page.payload_from).first()):
        return found
    if page.status == NOT_MODIFIED_STATUS and not page.is_imported:
        url = page.url
        earlier = stored.filter(
            run__crawl=page.run.crawl_id,
            status=200,
            url__fingerprint=url.fingerprint,
            url__url=url.url,
        )
        return (
            earlier.filter(fetched_at__lt=page.fetched_at).order_by("-fetched_at").first() or page
        )
    same = stored.filter(
        run=page.run_id,
        fingerprint=page.fingerprint,
        payload_sha256=page.payload_sha256,
    )
    return same.order_by("fetched_at").first() or _further_with_payload(page) or page


def _further_with_payload(page: Page) -> Page | None:
    found = FurtherRecord.objects.filter(
        run=page.run_id, payload_sha256=page.payload_sha256, is_revisit=False
    )
    joined = found.select_related("archive_file", "url", "run__crawl")
    first = joined.order_by("pk").first()
    return first.stored if first else None


def further_records(pages: Collection[Page]) -> dict[int, list[Page]]:
    """An import's further records for the URLs of these pages, by the pages' ids: as unsaved pages,
    in the order of the files.
    """
    found: dict[int, list[Page]] = defaultdict(list)
    rows = FurtherRecord.objects.filter(url__in=[page.pk for page in pages])
    places = {(page.archive_file_id, page.archive_offset) for page in pages}
    for row in rows.select_related("archive_file", "url", "run__crawl").order_by("pk"):
        if (row.archive_file_id, row.archive_offset) not in places:
            found[row.url_id].append(row.stored)
    return found


def originals_of(pages: Collection[Page]) -> dict[int, Page]:
    """The results of `original_of`, by the pages' ids. One query finds the payloads of all revisits
    whose rows name the page with the payload.
    """
    named = {page.payload_from for page in pages if page.is_revisit and page.payload_from}
    found = _with_payloads().in_bulk(named) if named else {}
    return {
        page.pk: (page.is_revisit and found.get(page.payload_from or 0)) or original_of(page)
        for page in pages
    }


def _with_payloads() -> QuerySet[Page]:
    stored = Page.objects.filter(is_revisit=False, archive_file__isnull=False)
    return stored.select_related("archive_file", "url", "run__crawl")


def page_with_content(page: Page) -> Page:
    """The result of `original_of`. If that page is withdrawn but its record still exists, the
    result is an unsaved `Page` with the place of that record. Only the payload, which both pages
    share, may be shown.
    """
    found = original_of(page)
    is_unchanged = page.status == NOT_MODIFIED_STATUS and not page.is_imported
    if found is not page or not page.is_revisit or is_unchanged:
        return found
    holders = WithdrawnPage.objects.filter(content__page__is_revisit=False)
    if page.payload_from:
        holders = holders.filter(url=page.payload_from)
    else:
        digest = "\\x" + bytes(page.payload_sha256 or b"").hex()
        holders = holders.filter(
            run=page.run_id,
            content__isnull=False,
            content__page__fingerprint=page.fingerprint,
            content__page__payload_sha256=digest,
        )
    if holder := holders.order_by("pk").first():
        return holder.stored
    return _withdrawn_import_record(page) or page


def page_as_shown(page: Page) -> Page:
    """The page whose record has the document as visitors see it: what a browser made of the page,
    else the result of `page_with_content`.
    """
    return rendition_of(page, "dom") or page_with_content(page)


def without_rendition(page: Page) -> Page:
    """The page as the server sent it, as a page that is not to be saved."""
    plain = copy(page)
    plain.charset = (page.rendition or {}).get("plain_charset", page.charset)
    plain.rendition = None
    return plain


def rendition_of(page: Page, kind: str) -> Page | None:
    """A record of what a browser made of the page (`dom`, `text`, `view` or `thumbnail`), as a page
    without a row. None if there is none.
    """
    place = ((page.rendition or {}).get("records") or {}).get(kind)
    if not place:
        return None
    return Page(
        url=page.url,
        run_id=page.run_id,
        status=200,
        content_type=RENDITIONS[kind],
        charset="utf-8",
        archive_file=page.archive_file,
        archive_offset=place[0],
        archive_length=place[1],
    )


def _withdrawn_import_record(page: Page) -> Page | None:
    digest = "\\x" + bytes(page.payload_sha256 or b"").hex()
    wanted = {"payload_sha256": digest, "is_revisit": False}
    holders = WithdrawnPage.objects.filter(run=page.run_id, content__further__contains=[wanted])
    for holder in holders.order_by("pk")[:1]:
        return next(one for one in holder.further if one.payload_sha256 == page.payload_sha256)
    return None


def index_lines(row: ArchiveFile) -> Iterator[str]:
    """The lines of a file's CDXJ index, one for each response, revisit and resource record, in the
    order of the file. Raises ArchiveTrouble.
    """
    check_not_withdrawn([row])
    asked = {
        offset: (method, body)
        for offset, method, body in row.further_records.exclude(method="").values_list(
            "archive_offset", "method", "body"
        )
    }
    for record, offset, length in records_of(row, check_digests=False):
        if record.rec_type in ("response", "revisit", "resource"):
            place = {"length": str(length), "offset": str(offset), "filename": row.name}
            yield _line(record, place, *asked.get(offset, ("", "")))


def _line(record: Any, place: dict[str, str], method: str, body: str) -> str:
    said, answer = record.rec_headers, record.http_headers
    url, at = said.get_header("WARC-Target-URI"), said.get_header("WARC-Date")
    stamp = "".join(sign for sign in at if sign.isdigit())[:14]
    is_revisit = record.rec_type == "revisit"
    facts = {
        "url": url,
        "mime": "warc/revisit"
        if is_revisit
        else ((answer or said).get_header("Content-Type") or "unk").partition(";")[0].strip(),
        "status": answer.get_statuscode() if answer else None,
        "digest": said.get_header("WARC-Payload-Digest"),
        **request_facts(method, body),
        **place,
    }
    key = _search_key(url) + method_query(url, method, body).lower()
    return (
        f"{key} {stamp} "
        f"{json.dumps({key: value for key, value in facts.items() if value is not None})}"
    )


def _search_key(url: str) -> str:
    """The key by which a URL is looked up. An address without a host, such as that of a note, is
    its own key.
    """
    has_host = url.partition(":")[2].startswith("//")
    return surt(canonical_address(url)) if has_host else url


def records_of(row: ArchiveFile, *, check_digests: bool) -> Iterator[tuple[Any, int, int]]:
    """Each record with its offset and length. Raises ArchiveTrouble if the file is damaged."""
    with open_file_from(row) as file:
        records = ArchiveIterator(
            CommittedBytes(file, row.committed_length),
            check_digests="raise" if check_digests else False,
        )
        try:
            for record in records:
                offset = records.get_record_offset()
                yield record, offset, records.get_record_length()
        except ArchiveLoadFailed as error:
            raise ArchiveTrouble(f"{row.name} is damaged: {error}") from error


def check_not_withdrawn(rows: Collection[ArchiveFile]) -> None:
    """Raise ArchiveTrouble if one of the files may still have records of withdrawn pages."""
    first = WithdrawalFile.objects.filter(file__in=rows, done_at=None).first()
    if first:
        raise ArchiveTrouble(
            f"{first.file.name} may have records of pages that were taken down, and is given "
            f"out once it is rewritten: see withdrawal {first.withdrawal_id} of the crawl."
        )


def packed_pieces(row: ArchiveFile) -> Iterator[bytes]:
    """The committed bytes of a file, for a download.

    Raises ArchiveTrouble at once if the file is not on this machine, or may have withdrawn records.
    """
    check_not_withdrawn([row])
    file = open_file_from(row)
    return pieces(CommittedBytes(file, row.committed_length))


def pieces(file: CommittedBytes) -> Iterator[bytes]:
    """The file piece by piece; closed at the end.

    Raises ArchiveTrouble at the end if the file is shorter than its committed length.
    """
    try:
        while piece := file.read(PIECE_BYTES):
            yield piece
        if file.left:
            raise ArchiveTrouble(
                f"An archive file lacks {file.left:,} bytes that were written; take it from a "
                "back-up."
            )
    finally:
        file.close()


def open_file_from(row: ArchiveFile, offset: int = 0) -> BinaryIO:
    """The file from an offset on. Raises ArchiveTrouble if this machine cannot read it."""
    try:
        return open_stored(row, offset)
    except FileNotFoundError as error:
        raise ArchiveTrouble(
            f"{row.name} is not on this machine; {row.machine} wrote it ({error.strerror})."
        ) from error
    except OSError as error:
        raise ArchiveTrouble(f"{row.name} cannot be read: {error.strerror}.") from error


#: Control characters and blanks, treated as in URLs (URL Standard, 4.4): tabs and line breaks,
#: which would end a line of the index, are removed; the others are percent-encoded.
PLAIN = str.maketrans(
    {code: f"%{code:02X}" for code in (*range(33), 127)} | dict.fromkeys(map(ord, "\t\n\r"))
)


def method_query(url: str, method: str, body: str) -> str:
    """The addition to a URL, or to its key, for the request method; empty for GET."""
    if not method:
        return ""
    mark = "&" if "?" in url else "?"
    return f"{mark}__wb_method={method}{f'&{body}' if body else ''}".translate(PLAIN)


def request_facts(method: str, body: str) -> dict[str, str]:
    return {"method": method, "requestBody": body} if method else {}
