"""The program of `Rewriter`. It rewrites documents of a mirror, one after the other. Its argument
is the file with the mirror's paths.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from crawling.machine.sandbox_program import run_sandboxed, work_on_tasks
from crawling.uses.exports.mirror.file_paths import FilePaths
from crawling.uses.exports.mirror.rewriting import DocumentLinks
from crawling.web.document_stream import DocumentStream

PAGE, SHEET = "page", "sheet"


def rewritten_document(paths: FilePaths, task: dict[str, Any], content: bytes) -> bytes:
    links, body = DocumentLinks(paths, task["url"], task["path"]), DocumentStream.of(content)
    write = links.page if task["kind"] == PAGE else links.sheet
    with closing(body):
        return write(body, task["charset"])


def main(paths_file: str) -> None:
    paths = FilePaths(Path(paths_file))
    work_on_tasks(partial(rewritten_document, paths))


if __name__ == "__main__":
    run_sandboxed(main)
