"""The browsers of operators and a program, as a web server sees them. They send requests at set
times, whether the server answers or not.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Coroutine
from dataclasses import dataclass, field

from benchmarks.report import in_words

#: the times of a live page, as in base.html and usually in `crawlsite.preferences.REFRESHES`
EVERY_SECONDS, PATIENCE_SECONDS = 2.0, 10.0
#: a program's client waits for longer
PROGRAM_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Scene:
    port: int
    #: the pages that operators view, in turn; each operator has a session cookie
    pages: list[str]
    cookies: list[str]
    #: the program's token and address, of which it makes `requests` a second
    token: str
    paths: list[str]
    requests: float
    seconds: float


@dataclass
class Report:
    """The seconds of answers, by client and kind of answer. `late`: how often no answer came in
    time.
    """

    taken: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    late: Counter[str] = field(default_factory=Counter)

    def lines(self) -> list[str]:
        refused = self.taken["program", 429] + self.taken["program", 503]
        return [
            *(
                f"{who} {status}: {in_words(some)}"
                for (who, status), some in sorted(self.taken.items())
                if some
            ),
            f"refused: {in_words(refused)}",
            f"no answer in time: {dict(self.late) or 'none'}",
        ]


def load(scene: Scene, report: Report) -> None:
    """Play the scene to its end, and note the results."""
    asyncio.run(_run_clients(scene, report))


async def _run_clients(scene: Scene, report: Report) -> None:
    end = time.monotonic() + scene.seconds
    operators = [_operator(scene, number, end, report) for number in range(len(scene.cookies))]
    await asyncio.gather(*operators, _program(scene, end, report))


async def _operator(scene: Scene, number: int, end: float, report: Report) -> None:
    """A browser with a live page. It sends a request every two seconds, but not while it waits for
    an answer.
    """
    path, etag, connection = scene.pages[number % len(scene.pages)], "", Kept(scene.port)
    due = time.monotonic() + EVERY_SECONDS * number / len(scene.cookies)
    while due < end:
        await asyncio.sleep(due - time.monotonic())
        lines = [
            f"Cookie: {scene.cookies[number]}",
            "HX-Request: true",
            "HX-Target: live",
            *([f"If-None-Match: {etag}"] if etag else []),
        ]
        heads = await _timed("operator", connection.get(path, lines), PATIENCE_SECONDS, report)
        etag = heads.get("etag", etag)
        due = max(due + EVERY_SECONDS, time.monotonic())


async def _program(scene: Scene, end: float, report: Report) -> None:
    """A program, which sends requests at its rate, over free connections or new ones."""
    free: list[Kept] = []
    asked: set[asyncio.Task[None]] = set()

    async def ask(path: str) -> None:
        connection = free.pop() if free else Kept(scene.port)
        await _timed(
            "program",
            connection.get(path, [f"Authorization: Bearer {scene.token}"]),
            PROGRAM_PATIENCE_SECONDS,
            report,
        )
        free.append(connection)

    due, number = time.monotonic(), 0
    while scene.requests and due < end:
        await asyncio.sleep(due - time.monotonic())
        task = asyncio.create_task(ask(scene.paths[number % len(scene.paths)]))
        asked.add(task)
        task.add_done_callback(asked.discard)
        due, number = due + 1 / scene.requests, number + 1
    if asked:
        await asyncio.wait(asked)


Answer = tuple[int, dict[str, str]]


async def _timed(
    who: str, asked: Coroutine[None, None, Answer], patience: float, report: Report
) -> dict[str, str]:
    began = time.monotonic()
    try:
        status, heads = await asyncio.wait_for(asked, patience)
    except (TimeoutError, OSError, asyncio.IncompleteReadError):
        report.late[who] += 1
        return {}
    report.taken[who, status].append(time.monotonic() - began)
    return heads


class Kept:
    """A connection that is used again. It is opened anew after it was closed, or an answer was not
    waited for.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str, lines: list[str]) -> Answer:
        reader, writer = self._streams or await asyncio.open_connection("127.0.0.1", self._port)
        if reader.at_eof():
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._streams = None
        try:
            writer.write(
                "\r\n".join(
                    [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{self._port}", *lines, "", ""]
                ).encode()
            )
            status, heads = await _answer(reader)
        except BaseException:
            writer.close()
            raise
        if heads.get("connection", "").lower() == "close":
            writer.close()
        else:
            self._streams = reader, writer
        return status, heads


async def _answer(reader: asyncio.StreamReader) -> Answer:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    heads = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
    }
    status = int(head[0].split()[1])
    if heads.get("transfer-encoding") == "chunked":
        while size := int(await reader.readline(), 16):
            await reader.readexactly(size + 2)
        await reader.readexactly(2)
    elif status not in (204, 304):
        await reader.readexactly(int(heads.get("content-length", 0)))
    return status, heads
