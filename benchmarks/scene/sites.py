"""Webs that are served by processes of their own, which take nothing from the interpreter here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextmanager
def served_by_process(serve: Callable[..., None], *given: object) -> Iterator[Any]:
    """Call `serve` with a pipe and what is given; yields what it sends when it is ready, and ends
    it with the block.
    """
    spawning = get_context("spawn")
    here, there = spawning.Pipe()
    server = spawning.Process(target=serve, args=(there, *given), daemon=True)
    server.start()
    try:
        yield here.recv()
    finally:
        server.terminate()
        server.join()


def answering(answer: Callable[[str, str], Awaitable[bytes]]) -> Handler:
    """What asyncio calls for a connection: all of its requests are answered in turn.

    answer: of the target of a request and the address that it was sent to.
    """

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("sockname")[0]
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                writer.write(await answer(head.split(b" ", 2)[1].decode(), address))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    return handle
