"""Lets a separate program rewrite documents, with a time limit for each."""

from __future__ import annotations

from pathlib import Path

from crawling.machine.sandbox import SandboxLimits, TaskSandbox
from crawling.uses.exports.mirror.rewriting_program import PAGE, SHEET
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.css import TYPES as SHEETS

PROGRAM = "crawling.uses.exports.mirror.rewriting_program"
#: a longer document is stored unchanged
MOST_BYTES = 16 * 1024 * 1024
LIMITS = SandboxLimits(
    memory_bytes=1024**3, cpu_seconds=None, seconds=30.0, output_bytes=8 * MOST_BYTES
)
PAGES = ("text/html", "application/xhtml+xml")


class Rewriter(TaskSandbox):
    """Rewrites documents by a program. After a document that exceeds the limits, the program is
    started again.
    """

    def __init__(self, paths_file: Path) -> None:
        super().__init__(PROGRAM, str(paths_file), limits=LIMITS)

    def rewrite(
        self, body: DocumentStream, *, content_type: str, charset: str | None, url: str, path: str
    ) -> bytes | None:
        """A document with rewritten links. None if it has no links, or if it exceeds the limits of
        the program.
        """
        if content_type not in (*PAGES, *SHEETS) or len(body) > MOST_BYTES:
            return None
        kind = PAGE if content_type in PAGES else SHEET
        task = {"kind": kind, "url": url, "path": path, "charset": charset, "size": len(body)}
        return self.answer(task, body.pieces())
