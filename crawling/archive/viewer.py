"""Look at a stored page.

What strangers wrote is unpacked by a program of its own, within limits that the kernel keeps.

Where it breaks, or is broken, it costs that look, and the web process nothing.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from crawling.archive.decoded_documents import DOCUMENT, SNAPSHOT
from crawling.archive.reader import opened
from crawling.archive.unpacker import DAMAGED, MOST_SHOWN
from crawling.errors import ArchiveTrouble
from crawling.models import Page

#: the program's own limits are smaller; this one ends it if the machine is too busy to let it run
LONGEST_SECONDS = 15.0
#: where the program finds this project
ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-E", "-s", "-m")
HEADS, DOCUMENTS = "crawling.archive.unpacker", "crawling.archive.decoded_documents"


def head_of(page: Page) -> tuple[str, str]:
    """The header of a page's record and the head of its answer. Raises ArchiveTrouble."""
    header, _, head = _unpacked(page, HEADS).decode(errors="replace").partition("\0")
    return header, head


def document_of(page: Page) -> bytes:
    """The document that a page's record has, with its codings taken off.

    It has the first 16 MiB at the most. Raises ArchiveTrouble.
    """
    return _unpacked(page, DOCUMENTS, DOCUMENT)


def snapshot_of(page: Page, charset: str) -> bytes:
    """An HTML page of that encoding as a browser can show it without a request.

    Raises ArchiveTrouble.
    """
    return _unpacked(page, DOCUMENTS, SNAPSHOT, charset)


def whole_document_of(page: Page) -> bytes:
    """The same, of a document that is smaller than that. Raises ArchiveTrouble."""
    if page.bytes >= MOST_SHOWN:
        said = "too many to be unpacked here; download its records instead"
        raise ArchiveTrouble(f"The document has {page.bytes:,} bytes, {said}.")
    return document_of(page)


def _unpacked(page: Page, program: str, *about: str) -> bytes:
    if page.archive_file is None or page.archive_offset is None:
        raise ArchiveTrouble("This page was not archived.")
    with opened(page.archive_file, page.archive_offset) as file:
        try:
            # our own program; of the page only the name of its encoding is on the command line
            done = subprocess.run(  # noqa: S603
                [*COMMAND, program, str(page.archive_length), *about],
                stdin=file,
                capture_output=True,
                timeout=LONGEST_SECONDS,
                check=False,
                cwd=ROOT,
                env={},
            )
        except subprocess.TimeoutExpired as error:
            raise ArchiveTrouble("The record took too long to be unpacked.") from error
    if done.returncode == DAMAGED:
        raise ArchiveTrouble(done.stderr.decode(errors="replace").strip()[-300:])
    if done.returncode:
        raise ArchiveTrouble(
            "The record could not be unpacked within its limits of time and memory."
        )
    return done.stdout
