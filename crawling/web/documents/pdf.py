"""PDF: the addresses to which its pages link, its title and its author.

A separate program reads it (`pdf_program`): no PDF parser is fast, and a hostile file must kill
only that program, not the crawl.
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
#: the cores that this process may use when it starts; the program may use all of them, and not only
#: the shift's single core
CORES = tuple(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else ()
#: a larger PDF is stored but not read
MOST_BYTES = 32 * 1024 * 1024
CPU_SECONDS = 8
#: for machines that are too busy to let the program run at once
LONGEST_SECONDS = 15.0
#: the most output of the program; its links and text have further limits
MOST_OUTPUT_BYTES = 32 * 1024 * 1024
#: the number of programs that run at a time in a process, so that the fetch threads of other
#: documents are not kept waiting
PROGRAMS = threading.BoundedSemaphore(2)
#: The least memory for a program, which the pool must have granted to the shift. Its interpreter
#: takes 19 MiB, and most documents of 500 pages take 23 to 40. With less memory no PDF is read.
LEAST_PROGRAM_BYTES = 32 * 1024 * 1024
MOST_PROGRAM_BYTES = 128 * 1024 * 1024
#: the reasons why a document that exceeds the program's limits is not read
TOO_MUCH = {
    ProgramLimit.MEMORY: TruncationReason.NO_MEMORY,
    ProgramLimit.TIME: TruncationReason.NO_TIME,
    ProgramLimit.OUTPUT: TruncationReason.SIZE,
}


def read(source: DocumentSource) -> Document:
    """Read a document, whether valid or not. If it needs too much time or memory, the result is
    empty.
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
            told = _run_pdf_program(source.body, memory)
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


def _run_pdf_program(body: DocumentStream, memory: int) -> dict[str, str]:
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
