"""Rewrites documents of a mirror, one after the other. `Rewriter` runs this module as a program of
its own: what is too much in a document that a stranger wrote ends the program, and nothing else.

Its argument is the file with the mirror's paths. Of each document it reads a line of JSON and the
document, and writes a line with the size of the result, and the result.
"""

from __future__ import annotations

import json
import resource
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from crawling.mirror.file_paths import FilePaths
from crawling.mirror.rewriting import DocumentLinks
from crawling.process.orphans import stop_with_parent
from crawling.web.document_stream import DocumentStream

MEMORY_BYTES = 1024 * 1024 * 1024
PAGE, SHEET = "page", "sheet"


def rewritten(paths: FilePaths, task: dict[str, Any], content: bytes) -> bytes:
    links, body = DocumentLinks(paths, task["url"], task["path"]), DocumentStream.of(content)
    write = links.page if task["kind"] == PAGE else links.sheet
    with closing(body):
        return write(body, task["charset"])


def main(paths_file: str) -> None:
    """Rewrite within limits, until there is no more to do."""
    stop_with_parent()
    with suppress(OSError, ValueError):  # refused by macOS, or smaller already
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
    paths = FilePaths(Path(paths_file))
    while line := sys.stdin.buffer.readline():
        task = json.loads(line)
        result = rewritten(paths, task, sys.stdin.buffer.read(task["size"]))
        sys.stdout.buffer.write(b"%d\n" % len(result))
        sys.stdout.buffer.write(result)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
