"""PDF: the addresses to which its pages link, its title and its author.

A program of its own reads it (`pdf_program`): no parser of PDF is fast, and a hostile file must
only kill that program, not the crawl.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from tempfile import TemporaryFile

from crawling.machine.sandbox import ProgramLimit, ProgramSandbox, SandboxLimits
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
PROGRAM = "crawling.web.documents.pdf_program"
#: the cores of this process when it was started, for the program, which need not stay on the
#: shift's single core
CORES = tuple(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ()
#: larger ones are kept and not read
MOST_BYTES = 32 * 1024 * 1024
CPU_SECONDS = 8
#: if the machine is too busy to let the program run
LONGEST_SECONDS = 15.0
#: the output of the program; its links and text have limits of their own
MOST_OUTPUT_BYTES = 32 * 1024 * 1024
#: programs at a time in a process; the fetch threads of other documents are not kept waiting by
#: them
PROGRAMS = threading.BoundedSemaphore(2)
#: Memory of a program, which the shift must have been granted. Its interpreter takes 19 MiB, and
#: most documents of 500 pages take 23 to 40. With less than the least, no PDF is read.
LEAST_PROGRAM_BYTES = 32 * 1024 * 1024
MOST_PROGRAM_BYTES = 128 * 1024 * 1024
#: why a document that is too much for the program is not read
TOO_MUCH = {
    ProgramLimit.MEMORY: TruncationReason.NO_MEMORY,
    ProgramLimit.TIME: TruncationReason.NO_TIME,
    ProgramLimit.OUTPUT: TruncationReason.SIZE,
}


def read(source: DocumentSource) -> Document:
    """Read a document of any quality; a document that needs too much time or memory gives
    nothing.
    """
    if b"%PDF-" not in source.body.start(1024):
        return Document(unread=TruncationReason.TYPE)
    if len(source.body) > MOST_BYTES:
        return Document(unread=TruncationReason.SIZE)
    memory = min(MOST_PROGRAM_BYTES, source.memory.most)
    if memory < LEAST_PROGRAM_BYTES:
        return Document(unread=TruncationReason.NO_MEMORY)
    with PROGRAMS:
        if not source.memory.reserve(memory):
            return Document(unread=TruncationReason.BUSY)
        try:
            told = _run(source.body, memory)
        finally:
            source.memory.release()
    links = Links(source.url, charset="UTF-8")
    for link in told.get("links", ()):
        links.add(link)
    text = told.get("text", "")[:MOST_TEXT].replace("\0", "")
    title, author = one_line(told.get("title")), one_line(told.get("author"), 200)
    unread = TruncationReason(told["unread"]) if told.get("unread") else links.left_out
    metadata = DocumentMetadata(author)
    return Document(title, links=links.found, text=text, metadata=metadata, unread=unread)


def _run(body: DocumentStream, memory: int) -> dict[str, str]:
    limits = SandboxLimits(memory, CPU_SECONDS, LONGEST_SECONDS, MOST_OUTPUT_BYTES, cores=CORES)
    with TemporaryFile() as file:
        for piece in body.pieces():
            file.write(piece)
        file.seek(0)
        end = ProgramSandbox(PROGRAM, limits=limits).run(file)
    if end.excess:
        return {"unread": TOO_MUCH[end.excess]}
    if end.fault:
        logger.info("a PDF could not be read", extra={"said": end.fault[-200:]})
        return {"unread": TruncationReason.BROKEN}
    told: dict[str, str] = json.loads(end.output)
    return told
