"""The program of a browser process: it renders the pages that its caller sends."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

from playwright._impl._driver import compute_driver_executable
from playwright.async_api import Error, Playwright, async_playwright

from crawling.machine.sandbox_program import run_sandboxed
from crawling.web.rendering.browser_start import DRIVER_NAME, BrowserStart
from crawling.web.rendering.chromium import write_launcher
from crawling.web.rendering.engine import Engine
from crawling.web.rendering.messages import (
    HEAD,
    made,
    pack,
    packed_result,
    sizes_in,
    unpack,
)
from crawling.web.rendering.process_tree import leave_network
from crawling.web.rendering.types import (
    DoorAnswer,
    DoorRequest,
    NoBrowserError,
    PageToRender,
    Rendered,
    RenderVerdict,
)

#: the environment variable by which Playwright is told which program is its driver
DRIVER = "PLAYWRIGHT_NODEJS_PATH"


class Program:
    def __init__(self, engine: Engine, writer: asyncio.StreamWriter) -> None:
        self._engine, self._writer = engine, writer
        self._numbers = count()
        self._asked: dict[tuple[int, int], asyncio.Future[DoorAnswer]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        #: set once no browser can be started any more, so that the caller learns the reason from
        #: the start of another program, or once a task has failed, so that no page waits for it
        self.has_to_end = asyncio.Event()

    def take(self, content: dict[str, Any], blobs: list[bytes]) -> None:
        kind = content["kind"]
        if kind == "answer":
            asked = self._asked.pop((content["number"], content["asked"]), None)
            if asked and not asked.done():
                asked.set_result(made(DoorAnswer, content["values"], body=blobs[0]))
            return
        work = {"render": self._render, "picture": self._picture, "use": self._use}[kind]
        task = asyncio.ensure_future(work(content, blobs))
        self._tasks.add(task)
        task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.has_to_end.set()
            raise error  # asyncio writes it to the log

    async def _render(self, content: dict[str, Any], blobs: list[bytes]) -> None:
        number = content["number"]
        page = made(PageToRender, content["values"], body=blobs[0])

        async def ask(request: DoorRequest) -> DoorAnswer:
            return await self._ask(number, request)

        try:
            result = await self._engine.render(number, page, ask)
        except NoBrowserError:
            result = Rendered(RenderVerdict.CRASHED_BESIDE)
            self.has_to_end.set()
        self._writer.write(packed_result(number, result))

    async def _ask(self, number: int, request: DoorRequest) -> DoorAnswer:
        key = number, next(self._numbers)
        asked: asyncio.Future[DoorAnswer] = asyncio.get_running_loop().create_future()
        self._asked[key] = asked
        values = asdict(request)
        body = values.pop("body")
        self._writer.write(
            pack({"kind": "request", "number": number, "asked": key[1], "values": values}, [body])
        )
        try:
            return await asked
        finally:
            self._asked.pop(key, None)

    async def _picture(self, content: dict[str, Any], _blobs: list[bytes]) -> None:
        picture = await self._engine.picture(content["page"])
        values = {"memory_bytes": self._engine.memory_of_page(content["page"])}
        answer = {"kind": "answer", "number": content["number"], "values": values}
        self._writer.write(pack(answer, [picture]))

    async def _use(self, content: dict[str, Any], _blobs: list[bytes]) -> None:
        values = asdict(self._engine.use())
        self._writer.write(pack({"kind": "answer", "number": content["number"], "values": values}))


async def _serve(
    link: socket.socket, engine_of: Callable[[Playwright], Engine], *, has_no_network: bool
) -> None:
    """Render what comes over the link, until the caller, the driver or this program's parent has
    ended, or the program has to end.
    """
    reader, writer = await asyncio.open_connection(sock=link)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, reader.feed_eof)
    async with async_playwright() as playwright:
        engine = engine_of(playwright)
        try:
            await engine.start()
        except NoBrowserError as error:
            writer.write(pack({"kind": "no_browser", "sentence": str(error)}))
            await writer.drain()
            return
        writer.write(
            pack({"kind": "ready", "values": asdict(engine.facts(has_no_network=has_no_network))})
        )
        program = Program(engine, writer)
        ends = (
            asyncio.ensure_future(_take_messages(reader, program)),
            asyncio.ensure_future(engine.watch()),
            asyncio.ensure_future(program.has_to_end.wait()),
        )
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        engine.kill_browser()
        with suppress(ConnectionError):
            await writer.drain()


async def _take_messages(reader: asyncio.StreamReader, program: Program) -> None:
    """Return when the caller has ended, or this program is told to."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            size, rest = sizes_in(await reader.readexactly(HEAD.size))
            head = await reader.readexactly(size)
            program.take(*unpack(head, await reader.readexactly(rest)))


def main(folder_name: str, link_descriptor: str, executable: str, memory_bytes: str) -> None:
    has_no_network = leave_network()
    folder = Path(folder_name)
    driver, _ = compute_driver_executable()
    launcher = write_launcher(folder, DRIVER_NAME, driver, None)
    os.environ |= {DRIVER: str(launcher), "TMPDIR": folder_name, "HOME": folder_name}

    def engine_of(playwright: Playwright) -> Engine:
        return Engine(BrowserStart(playwright, folder, executable, int(memory_bytes)), folder)

    with suppress(Error), socket.socket(fileno=int(link_descriptor)) as link:
        asyncio.run(
            _serve(link, engine_of, has_no_network=has_no_network)
        )  # an error: the driver has died
    # the caller may have died, and then nothing but this program ends what is left
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    run_sandboxed(main)
