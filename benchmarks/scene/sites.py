"""Sites on loopback, served by separate processes, so that they take no time from the interpreter
here.
"""

from __future__ import annotations

import asyncio
import mimetypes
import os
import resource
import signal
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit
from zlib import crc32

from crawling.machine.cpu_affinity import lower_session
from tests.webs.synthetic import SyntheticWeb, serve_web

#: one page in this many has a microformat with a number, which differs in each edition
EVERY = 10
ENTRY = '<p class="h-entry"><span class="p-name">Edition {}</span></p>'


class Asked(NamedTuple):
    target: str
    #: the address to which it was sent
    address: str
    #: the value of the field `Host`
    host: str


Answer = Callable[[Asked], Awaitable[bytes]]


def reply(
    body: str | bytes, status: str = "200 OK", kind: str = "text/html", more: str = ""
) -> bytes:
    whole = body.encode() if isinstance(body, str) else body
    kind += "; charset=utf-8" * (kind == "text/html")
    fields = f"Content-Type: {kind}\r\nContent-Length: {len(whole)}\r\n{more}"
    return f"HTTP/1.1 {status}\r\n{fields}\r\n".encode() + whole


NOT_HERE = reply("not here", "404 Not Found", "text/plain")


@contextmanager
def served(
    answer: Answer, addresses: Sequence[str] = ("127.0.0.1",), port: int = 0
) -> Iterator[int]:
    """Serve at all these addresses until the block ends. Yields the port, which is any free one if
    it is not given.
    """
    with _process(_serve, answer, addresses, port) as pipe:
        yield pipe.recv()


@contextmanager
def served_webs(*webs: SyntheticWeb, gives_way: bool = False) -> Iterator[list[list[str]]]:
    """Serve webs, each by a separate process. Yields the seeds of each.

    gives_way: use the priority of the processes that crawl the web. With the usual priority,
    crawling would take no time from people who view pages.
    """
    with ExitStack() as stack:
        # all at once, since making the pages of a large one takes long
        pipes = [stack.enter_context(_process(_serve_web, web, gives_way)) for web in webs]
        yield [pipe.recv() for pipe in pipes]


@contextmanager
def served_folder(folder: Path, port: int) -> Iterator[Synchronized[int]]:
    """Serve a folder of HTML. Yields the edition, which begins at 1 and may be raised."""
    edition = get_context("spawn").Value("i", 1)
    with served(partial(_answer_from, folder.resolve(), edition), port=port):
        yield edition


def page_of(folder: Path, target: str, edition: int) -> bytes:
    """The answer for a folder, some of whose pages differ in each edition."""
    path = urlsplit(target).path
    file = (folder / unquote(path).lstrip("/")).resolve()
    if not file.is_relative_to(folder):
        return NOT_HERE
    if file.is_dir():
        if not path.endswith("/"):
            return reply("", "301 Moved Permanently", "text/plain", f"Location: {path}/\r\n")
        file /= "index.html"
    if not file.is_file():
        return NOT_HERE
    kind, _ = mimetypes.guess_type(file.name)
    body = file.read_bytes()
    if kind == "text/html" and not crc32(path.encode()) % EVERY:
        body += ENTRY.format(edition).encode()
    return reply(body, kind=kind or "application/octet-stream")


async def _answer_from(folder: Path, edition: Synchronized[int], asked: Asked) -> bytes:
    return page_of(folder, asked.target, edition.value)


@contextmanager
def _process(serve: Callable[..., None], *given: object) -> Iterator[Connection]:
    """Call `serve` in a process, with a pipe and the given arguments. Yields the pipe, by which the
    process sends something when it is ready. The process ends with the block.
    """
    spawning = get_context("spawn")
    here, there = spawning.Pipe()
    server = spawning.Process(target=serve, args=(there, *given), daemon=True)
    server.start()
    there.close()  # so that the end of a failing server is noticed
    try:
        yield here
    finally:
        server.terminate()
        server.join()


def _serve_web(told: Connection, web: SyntheticWeb, gives_way: bool) -> None:
    if gives_way:
        os.setsid()
        lower_session()
    with serve_web(web) as served_web:
        told.send(served_web.seeds)
        signal.pause()  # until it is terminated


def _serve(told: Connection, answer: Answer, addresses: Sequence[str], port: int) -> None:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    asyncio.run(_answer_all(told, answer, addresses, port))


async def _answer_all(
    told: Connection, answer: Answer, addresses: Sequence[str], port: int
) -> None:
    for address in addresses:
        server = await asyncio.start_server(partial(_converse, answer), address, port, backlog=256)
        port = server.sockets[0].getsockname()[1]
    told.send(port)
    await asyncio.Event().wait()


async def _converse(
    answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer all requests of a connection in turn."""
    address = writer.get_extra_info("sockname")[0]
    try:
        while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
            host = next(
                (
                    line[5:].strip()
                    for line in head.split("\r\n")
                    if line.lower().startswith("host:")
                ),
                "",
            )
            writer.write(await answer(Asked(head.split(" ", 2)[1], address, host)))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        return
    finally:
        writer.close()
