"""PDF: the addresses that its pages link to, its title and its author.

A program of its own reads it (`pdf_program`): no parser of PDF is fast, and a hostile file must
cost that program its life, not the crawl.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryFile

from crawling.web.document_stream import DocumentStream
from crawling.web.documents.base import (
    MOST_TEXT,
    Document,
    DocumentMetadata,
    DocumentSource,
    TruncationReason,
    one_line,
)
from crawling.web.links import Links

logger = logging.getLogger(__name__)

TYPES = ("application/pdf", "application/x-pdf")
PROGRAM = Path(__file__).with_name("pdf_program.py")
#: the cores of this process when it was started, for the program, which need not stay on the one
#: core of a shift
CORES = tuple(map(str, os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()
#: larger ones are kept and not read
MOST_BYTES = 32 * 1024 * 1024
#: the program's own limits are smaller; this one ends it if the machine is too busy to let it run
LONGEST_SECONDS = 15.0
#: programs at a time in a process; the fetch threads of other documents are not kept waiting by
#: them
PROGRAMS = threading.BoundedSemaphore(2)
#: Memory of a program, which the shift must have been granted. Its interpreter takes 19 MiB, and
#: most documents of 500 pages take 23 to 40. With less than the least, no PDF is read.
LEAST_PROGRAM_BYTES = 32 * 1024 * 1024
MOST_PROGRAM_BYTES = 128 * 1024 * 1024
#: how the interpreter reports an allocation that failed, as the error or as its cause; the second
#: where its own code overlooked it. The program has no memory left to say it in another way.
NO_MEMORY = (b"MemoryError", b"SystemError")


def read(source: DocumentSource) -> Document:
    """Read a document of any quality; one that needs too much time or memory says nothing."""
    if b"%PDF-" not in source.body.start(1024):
        return Document(unread=TruncationReason.TYPE)
    if len(source.body) > MOST_BYTES:
        return Document(unread=TruncationReason.SIZE)
    memory = min(MOST_PROGRAM_BYTES, source.room.most)
    if memory < LEAST_PROGRAM_BYTES:
        return Document(unread=TruncationReason.NO_MEMORY)
    with PROGRAMS:
        if not source.room.reserve(memory):
            return Document(unread=TruncationReason.BUSY)
        try:
            told = _run(source.body, memory)
        finally:
            source.room.release()
    links = Links(source.url, charset="UTF-8")
    for link in told.get("links", ()):
        links.add(link)
    text = told.get("text", "")[:MOST_TEXT].replace("\0", "")
    title, author = one_line(told.get("title")), one_line(told.get("author"), 200)
    unread = TruncationReason(told["unread"]) if told.get("unread") else links.left_out
    metadata = DocumentMetadata(author)
    return Document(title, links=links.found, text=text, metadata=metadata, unread=unread)


def _run(body: DocumentStream, memory: int) -> dict[str, str]:
    with TemporaryFile() as file:
        for piece in body.pieces():
            file.write(piece)
        file.seek(0)
        try:
            # our own program, and nothing of the document on its command line
            done = subprocess.run(  # noqa: S603
                [sys.executable, "-I", str(PROGRAM), str(memory), *CORES],
                stdin=file,
                capture_output=True,
                timeout=LONGEST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"unread": TruncationReason.NO_TIME}
    if done.returncode:
        logger.info(
            "a PDF could not be read",
            extra={"status": done.returncode, "said": done.stderr[-200:].decode(errors="replace")},
        )
        is_large = any(mark in done.stderr for mark in NO_MEMORY)
        why = TruncationReason.NO_MEMORY if is_large else TruncationReason.BROKEN
        return {"unread": TruncationReason.NO_TIME if done.returncode < 0 else why}
    told: dict[str, str] = json.loads(done.stdout)
    return told
