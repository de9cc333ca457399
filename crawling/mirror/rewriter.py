"""Lets a program of its own rewrite documents, with a limit on the time of each."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Timer
from types import TracebackType

from crawling.mirror.rewriting_program import PAGE, SHEET
from crawling.web.document_stream import DocumentStream
from crawling.web.documents.css import TYPES as SHEETS

#: where the program finds this project
ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-E", "-s", "-m", "crawling.mirror.rewriting_program")
#: for one document; the first has the start of the program, too
SECONDS = 30.0
#: a longer document is kept as it is
MOST_BYTES = 16 * 1024 * 1024
PAGES = ("text/html", "application/xhtml+xml")


class Rewriter:
    """Rewrites documents by a program that is started again after one that was too much for it."""

    def __init__(self, paths_file: Path) -> None:
        self._paths_file = paths_file
        self._program: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Rewriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._end()

    def rewrite(
        self, body: DocumentStream, *, content_type: str, charset: str | None, url: str, path: str
    ) -> bytes | None:
        """A document with other links; None: it has none, or is too much for the program."""
        if content_type not in (*PAGES, *SHEETS) or len(body) > MOST_BYTES:
            return None
        kind = PAGE if content_type in PAGES else SHEET
        about = {"kind": kind, "url": url, "path": path, "charset": charset, "size": len(body)}
        program = self._started()
        timer = Timer(SECONDS, program.kill)
        timer.start()
        try:
            return _exchange(program, json.dumps(about).encode(), body)
        except (BrokenPipeError, EOFError):
            self._end()
            return None
        finally:
            timer.cancel()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._program is None:
            # our own program; a file of ours is its argument
            self._program = subprocess.Popen(  # noqa: S603
                [*COMMAND, str(self._paths_file)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
                env={},
            )
        return self._program

    def _end(self) -> None:
        if self._program:
            self._program.kill()
            for pipe in (self._program.stdin, self._program.stdout):
                assert pipe
                with suppress(BrokenPipeError):
                    pipe.close()
            self._program.wait()
            self._program = None


def _exchange(program: subprocess.Popen[bytes], about: bytes, body: DocumentStream) -> bytes:
    """Raises BrokenPipeError and EOFError if the program ends."""
    assert program.stdin
    assert program.stdout
    program.stdin.write(about + b"\n")
    for piece in body.pieces():
        program.stdin.write(piece)
    program.stdin.flush()
    line = program.stdout.readline()
    if not line:
        raise EOFError
    result = program.stdout.read(int(line))
    if len(result) < int(line):
        raise EOFError
    return result
