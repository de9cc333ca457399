"""The browser process as the work process sees it: it renders pages whose requests the work process
answers (docs/decisions/0187).
"""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import count
from struct import Struct
from time import monotonic
from typing import Any

from crawling.machine.sandbox import ProgramSandbox, SandboxLimits, end_program
from crawling.web.rendering.chromium import chromium_path, noted_processes
from crawling.web.rendering.folders import make_folder
from crawling.web.rendering.messages import (
    HEAD,
    WrongMessageError,
    made,
    pack,
    result_of,
    sizes_in,
    unpack,
)
from crawling.web.rendering.process_tree import kill_sessions
from crawling.web.rendering.types import (
    BrowserFacts,
    BrowserUse,
    Door,
    DoorRequest,
    NoBrowserError,
    PageToRender,
    PageView,
    Rendered,
    RenderVerdict,
)

PROGRAM = "crawling.web.rendering.program"
#: the file of the folder with what the program says about its faults, and the most of it to tell
ERRORS, MOST_WORDS = "errors", 400
#: the most requests of a page that the door is asked for at once
DOOR_THREADS = 4
#: The memory of a process beside that of the page: Linux counts address space as data that Chromium
#: never touches (330 MiB measured for an empty page, 680 MiB for Playwright's driver)
BESIDE_BYTES = 1024 * 1024 * 1024
#: the largest file that any of the processes writes, such as a piece of shared memory
FILE_BYTES = 1024 * 1024 * 1024
#: the time for the start of program, driver and browser, on a machine that is busy
START_SECONDS = 60.0
#: the time beyond a page's limit in which the program has to say what became of it
GRACE_SECONDS = 15.0
#: the time for a picture or a figure
ANSWER_SECONDS = 5.0
#: a live view is renewed at most so often
PICTURE_SECONDS = 1.0
#: the longest wait until the program takes a message, for the kernel
SEND_TIMEOUT = Struct("@ll").pack(10, 0)


@dataclass(eq=False, slots=True)
class _WorkingPage:
    page: PageToRender
    door: Door
    threads: ThreadPoolExecutor
    result: Future[Rendered] = field(default_factory=Future)
    began_at: float = field(default_factory=monotonic)
    picture: bytes = b""
    picture_at: float = -PICTURE_SECONDS
    memory_bytes: int = 0


class BrowserProcess:
    """Threads may share it. The process ends with the thread that made it."""

    facts: BrowserFacts

    def __init__(self, *, memory_bytes: int, cores: Sequence[int] = ()) -> None:
        """Start program and browser. Raises NoBrowserError.

        memory_bytes: the most that any page may have. cores: the cores that all its processes run
        on.
        """
        executable = chromium_path()
        self._folder, held_by = make_folder()
        self._numbers = count()
        self._pages: dict[int, _WorkingPage] = {}
        self._answers: dict[int, Future[tuple[Any, list[bytes]]]] = {}
        self._sending = threading.Lock()
        self.has_ended = False
        self._link, its_link = socket.socketpair()
        self._link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, SEND_TIMEOUT)
        try:
            limits = SandboxLimits(
                memory_bytes + BESIDE_BYTES, None, START_SECONDS, FILE_BYTES, cores=cores
            )
            arguments = self._folder, its_link.fileno(), executable, memory_bytes
            program = ProgramSandbox(PROGRAM, *map(str, arguments), limits=limits)
            with (self._folder / ERRORS).open("wb") as errors:
                kept_open = its_link.fileno(), held_by
                self._program = program.start_silent(kept_open=kept_open, errors=errors)
        finally:
            its_link.close()
            os.close(held_by)
        try:
            self.facts = self._await_ready()
        except BaseException:
            self.end()
            raise
        self._reader = threading.Thread(target=self._read, name="browser", daemon=True)
        self._reader.start()

    def _await_ready(self) -> BrowserFacts:
        self._link.settimeout(START_SECONDS)
        try:
            content, _ = self._receive()
        except (OSError, EOFError, WrongMessageError) as error:
            words = (self._folder / ERRORS).read_text(errors="replace")[-MOST_WORDS:].strip()
            raise NoBrowserError(f"The browser program does not start: {words}") from error
        self._link.settimeout(None)
        if content["kind"] == "no_browser":
            raise NoBrowserError(str(content["sentence"])[:1000])
        return made(BrowserFacts, content["values"])

    def render(self, page: PageToRender, door: Door) -> Rendered:
        """Render a page, whose requests `door` answers meanwhile, in other threads. An error that
        it raises ends the page, and is raised here. A call of it that is still at work then is not
        waited for.
        """
        number = next(self._numbers)
        threads = ThreadPoolExecutor(DOOR_THREADS, f"door-{number}")
        at_work = self._pages[number] = _WorkingPage(page, door, threads)
        values = asdict(page)
        body = values.pop("body")
        try:
            self._send({"kind": "render", "number": number, "values": values}, [body])
            return at_work.result.result(page.limits.seconds + GRACE_SECONDS)
        except FutureTimeoutError:
            self._give_up()
            return at_work.result.result()
        finally:
            del self._pages[number]
            threads.shutdown(wait=False, cancel_futures=True)

    @property
    def process_id(self) -> int:
        """The program's. Browser and driver are among its children."""
        return self._program.pid

    def pages(self) -> list[int]:
        """The numbers of the pages at work."""
        return list(self._pages)

    def view(self, number: int) -> PageView | None:
        """The present state of a page at work, with its newest picture. None if it has ended."""
        at_work = self._pages.get(number)
        if not at_work:
            return None
        if monotonic() - at_work.picture_at >= PICTURE_SECONDS:
            at_work.picture_at = monotonic()
            values, blobs = self._ask({"kind": "picture", "page": number})
            at_work.picture = (blobs[0] if blobs else b"") or at_work.picture
            at_work.memory_bytes = max(at_work.memory_bytes, (values or {}).get("memory_bytes", 0))
        seconds = monotonic() - at_work.began_at
        return PageView(at_work.page.url, seconds, at_work.memory_bytes, at_work.picture)

    def use(self) -> BrowserUse:
        values, _ = self._ask({"kind": "use"})
        return made(BrowserUse, values or {})

    def _ask(self, content: dict[str, Any]) -> tuple[Any, list[bytes]]:
        number = next(self._numbers)
        answer = self._answers[number] = Future()
        try:
            self._send({**content, "number": number})
            return answer.result(ANSWER_SECONDS)
        except FutureTimeoutError:
            return None, []
        finally:
            del self._answers[number]

    def _send(self, content: dict[str, Any], blobs: Sequence[bytes] = ()) -> None:
        try:
            with self._sending:
                self._link.sendall(pack(content, blobs))
        except OSError:
            self._give_up()
        if self.has_ended:
            self._settle_all()

    def _receive(self) -> tuple[dict[str, Any], list[bytes]]:
        """Raises EOFError, OSError and WrongMessageError."""
        size, rest = sizes_in(self._receive_bytes(HEAD.size))
        head = self._receive_bytes(size)
        return unpack(head, self._receive_bytes(rest))

    def _receive_bytes(self, size: int) -> bytes:
        received = bytearray(size)
        view, begin = memoryview(received), 0
        while begin < size:
            got = self._link.recv_into(view[begin:])
            if not got:
                raise EOFError
            begin += got
        return bytes(received)

    def _read(self) -> None:
        """Take the program's messages until it ends, or says what no message is."""
        with suppress(OSError, EOFError, WrongMessageError, KeyError, TypeError, IndexError):
            while True:
                self._take(*self._receive())
        self._give_up()

    def _take(self, content: dict[str, Any], blobs: list[bytes]) -> None:
        number = content["number"]
        at_work = self._pages.get(number)
        match content["kind"]:
            case "request" if at_work:
                request = made(DoorRequest, content["values"], body=blobs[0])
                with suppress(RuntimeError):  # the page has ended meanwhile
                    at_work.threads.submit(
                        self._answer, at_work, number, int(content["asked"]), request
                    )
            case "rendered" if at_work:
                _settle(at_work.result, result_of(content["values"], blobs))
            case "answer" if answer := self._answers.get(number):
                _settle(answer, (content.get("values"), blobs))

    def _answer(self, at_work: _WorkingPage, number: int, asked: int, request: DoorRequest) -> None:
        try:
            answer = at_work.door.answer(request)
        except Exception as error:  # any fault of the caller's door is the caller's
            with suppress(InvalidStateError):  # the page has ended meanwhile
                at_work.result.set_exception(error)
            return
        values = asdict(answer)
        body = values.pop("body")
        content = {"kind": "answer", "number": number, "asked": asked, "values": values}
        self._send(content, [body])

    def _give_up(self) -> None:
        """End a program that is dead, stuck or wrong; the pages that it has have crashed."""
        if not self.has_ended and len(self._pages) == 1:
            self._settle_all(RenderVerdict.CRASHED)
        self.has_ended = True
        self._kill_all()
        self._settle_all()

    def _settle_all(self, verdict: RenderVerdict = RenderVerdict.CRASHED_BESIDE) -> None:
        for at_work in list(self._pages.values()):
            _settle(at_work.result, Rendered(verdict))
        for answer in list(self._answers.values()):
            _settle(answer, (None, []))

    def _kill_all(self) -> None:
        kill_sessions({self._program.pid: 0, **noted_processes(self._folder)})

    def end(self) -> None:
        """End all processes of the browser and remove its folder. Pages at work have crashed."""
        self.has_ended = True
        with suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)
        self._kill_all()
        end_program(self._program)
        self._settle_all()
        if hasattr(self, "_reader"):
            self._reader.join()
        self._link.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _settle(future: Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)
