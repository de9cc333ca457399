"""A folder of HTML as a site on loopback, of which a part is different once it is told so."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from urllib.parse import unquote, urlsplit
from zlib import crc32

from benchmarks.scene.sites import answering

#: of so many pages one has a microformat with a number, which is another one in each edition
EVERY = 10
ENTRY = '<p class="h-entry"><span class="p-name">Edition {}</span></p>'


@contextmanager
def served_folder(folder: Path, port: int) -> Iterator[Synchronized[int]]:
    """Serve it by a process of its own until the block ends; yields the edition, which begins at 1
    and may be raised.
    """
    spawning = get_context("spawn")
    edition = spawning.Value("i", 1)
    server = spawning.Process(target=_serve, args=(folder.resolve(), port, edition), daemon=True)
    server.start()
    try:
        yield edition
    finally:
        server.terminate()
        server.join()


def _serve(folder: Path, port: int, edition: Synchronized[int]) -> None:
    async def answer(target: str, _address: str) -> bytes:
        return _answer(folder, target, edition.value)

    async def serve() -> None:
        server = await asyncio.start_server(answering(answer), "127.0.0.1", port)
        await server.serve_forever()

    asyncio.run(serve())


def _answer(folder: Path, target: str, edition: int) -> bytes:
    path = urlsplit(target).path
    file = (folder / unquote(path).lstrip("/")).resolve()
    if not file.is_relative_to(folder):
        return _reply("404 Not Found", "text/plain", b"not here")
    if file.is_dir():
        if not path.endswith("/"):
            return _reply("301 Moved Permanently", "text/plain", b"", f"Location: {path}/\r\n")
        file /= "index.html"
    if not file.is_file():
        return _reply("404 Not Found", "text/plain", b"not here")
    kind, _ = mimetypes.guess_type(file.name)
    body = file.read_bytes()
    if kind == "text/html":
        kind = "text/html; charset=utf-8"
        if not crc32(path.encode()) % EVERY:
            body += ENTRY.format(edition).encode()
    return _reply("200 OK", kind or "application/octet-stream", body)


def _reply(status: str, kind: str, body: bytes, more: str = "") -> bytes:
    fields = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}"
    return f"HTTP/1.1 {status}\r\n{fields}\r\n".encode() + body
