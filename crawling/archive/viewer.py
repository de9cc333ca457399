"""Reads stored pages. A sandbox unpacks them."""

from __future__ import annotations

from crawling.archive.parts import with_descriptor
from crawling.archive.reader import open_file_from
from crawling.archive.unpacker import MOST_SHOWN
from crawling.base.errors import ArchiveTrouble
from crawling.machine.sandbox import ProgramLimit, ProgramSandbox, SandboxLimits
from crawling.models import Page

MIB = 1024 * 1024
LIMITS = SandboxLimits(
    memory_bytes=512 * MIB,
    cpu_seconds=8,
    seconds=15.0,  # the seconds allow for a machine that is too busy to run the program at once
    output_bytes=2 * MOST_SHOWN,
)
RECORDS, DOCUMENTS = "crawling.archive.unpacker", "crawling.archive.decoded_documents"


def head_of(page: Page) -> tuple[str, str]:
    """The header of a page's record and the head of its answer. Raises ArchiveTrouble."""
    header, _, head = _unpacked(page, RECORDS, "head").decode(errors="replace").partition("\0")
    return header, head


def document_of(page: Page) -> bytes:
    """The document in a page's record, without content codings.

    Only its first 16 MiB are read. Raises ArchiveTrouble.
    """
    return _unpacked(page, DOCUMENTS)


def resource_of(page: Page) -> bytes:
    """The content of a page's record of type `resource`, which has no content coding. Raises
    ArchiveTrouble.
    """
    return _unpacked(page, RECORDS, "payload")


def whole_document_of(page: Page) -> bytes:
    """The document of a page, which must be smaller than MOST_SHOWN. Raises ArchiveTrouble."""
    if page.bytes >= MOST_SHOWN:
        said = "too many to be unpacked here; download its records instead"
        raise ArchiveTrouble(f"The document has {page.bytes:,} bytes, {said}.")
    return document_of(page)


def _unpacked(page: Page, program: str, *asked: str) -> bytes:
    if page.archive_file is None or page.archive_offset is None:
        raise ArchiveTrouble("This page was not archived.")
    stored = open_file_from(page.archive_file, page.archive_offset)
    with with_descriptor(stored, page.archive_length or 0) as file:
        end = ProgramSandbox(program, str(page.archive_length), *asked, limits=LIMITS).run(file)
    if end.refusal:
        raise ArchiveTrouble(end.refusal)
    if end.excess is ProgramLimit.TIME:
        raise ArchiveTrouble("The record took too long to be unpacked.")
    if end.excess or end.fault:
        raise ArchiveTrouble(
            "The record could not be unpacked within its limits of time and memory."
        )
    return end.output
