"""The requests of one page: Chromium pauses each, and the caller's door answers it."""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from playwright.async_api import CDPSession, Error

from crawling.web.rendering.tab import OF_PROCESS, BrowserTab
from crawling.web.rendering.types import (
    LONGEST_URL,
    DoorAnswer,
    DoorRefusal,
    DoorRequest,
    FailedRequest,
    Headers,
    PageToRender,
    RenderVerdict,
)

Ask = Callable[[DoorRequest], Awaitable[DoorAnswer]]
#: said about the body as it was sent; Chromium gets it decoded
OF_TRANSFER = {"content-encoding", "content-length", "transfer-encoding", "connection"}
#: the most failed requests that are told of, and the most navigations of the window by scripts
MOST_TOLD, MOST_NAVIGATIONS = 100, 10
FIRST_ERROR = 400
#: the window keeps its document
NO_CONTENT = DoorAnswer(HTTPStatus.NO_CONTENT)
#: bodies below this are not worth the time of a thread
SMALL_BYTES = 256 * 1024


@dataclass(slots=True)
class DoorCounts:
    requests: int = 0
    body_bytes: int = 0
    #: of the window, by scripts
    navigations: int = 0


class Interception:
    def __init__(
        self, tab: BrowserTab, page: PageToRender, ask: Ask, over: Callable[[RenderVerdict], None]
    ) -> None:
        self._tab, self._page, self._ask, self._over = tab, page, ask, over
        self._has_begun = self.is_closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self.counts = DoorCounts()
        self.failed: list[FailedRequest] = []
        #: when a request began or was answered last
        self.active_at = time.monotonic()
        self.is_idle = asyncio.Event()
        self.is_idle.set()

    def take(self, session: CDPSession, event: dict[str, Any]) -> None:
        """Answer a paused request. `session` is the one that paused it. Once the page is over, its
        requests get no answer, since there may be thousands of them.
        """
        if self.is_closed:
            return
        task = asyncio.ensure_future(self._take(session, event))
        self._tasks.add(task)
        self.is_idle.clear()
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self.active_at = time.monotonic()
        if not self._tasks:
            self.is_idle.set()

    def are_quiet_for(self, seconds: float) -> bool:
        """Whether no request was under way for so long."""
        return self.is_idle.is_set() and time.monotonic() - self.active_at >= seconds

    def close(self) -> None:
        """Answer no further request."""
        self.is_closed = True
        for task in self._tasks:
            task.cancel()

    async def _take(self, session: CDPSession, event: dict[str, Any]) -> None:
        self.active_at = time.monotonic()
        self._note_process(event)
        with suppress(Error):  # the page has gone, or does not want the answer any more
            try:
                answer = await self._answer(event)
            except asyncio.CancelledError:
                answer = DoorAnswer(refusal=DoorRefusal.BY_LIMIT)
            if answer.refusal is None and not self.is_closed:
                await self._fulfil(session, event["requestId"], answer)
            else:
                await refuse(session, event["requestId"])

    def _note_process(self, event: dict[str, Any]) -> None:
        process, _, number = event.get("networkId", "").partition(".")
        if process.isdigit() and number:
            self._tab.processes.add(int(process))

    async def _answer(self, event: dict[str, Any]) -> DoorAnswer:
        asked = event["request"]
        is_window = event["resourceType"] == "Document" and event["frameId"] == self._tab.frame
        if is_window and not self._has_begun:
            self._has_begun = True
            page = self._page
            return DoorAnswer(page.status, "", page.headers, page.body)
        if self.is_closed or not asked["url"].startswith(("http://", "https://")):
            return DoorAnswer(refusal=DoorRefusal.BY_BROWSER)
        if asked["url"] == OF_PROCESS:
            return NO_CONTENT
        if refusal := self._refusal(is_window=is_window):
            return DoorAnswer(refusal=refusal)
        is_of_window = event["frameId"] == self._tab.frame
        request = _request(event, is_window=is_window, is_of_window=is_of_window)
        answer = await self._ask(request)
        if is_window and answer.refusal:
            # a failure would put a page of the browser in the place of the document
            return NO_CONTENT
        self._count(asked["url"], answer)
        return answer

    def _refusal(self, *, is_window: bool) -> DoorRefusal | None:
        self.counts.navigations += is_window
        if self.counts.navigations > MOST_NAVIGATIONS:
            self._over(RenderVerdict.TOO_MANY_NAVIGATIONS)
        elif self.counts.requests >= self._page.limits.requests:
            self._over(RenderVerdict.TOO_MANY_REQUESTS)
        else:
            self.counts.requests += 1
            return None
        return DoorRefusal.BY_LIMIT

    def _count(self, url: str, answer: DoorAnswer) -> None:
        self.counts.body_bytes += len(answer.body)
        if self.counts.body_bytes > self._page.limits.body_bytes:
            self._over(RenderVerdict.TOO_LARGE)
        reason = answer.refusal or (str(answer.status) if answer.status >= FIRST_ERROR else "")
        if reason and len(self.failed) < MOST_TOLD:
            self.failed.append(FailedRequest(url[:LONGEST_URL], reason))

    async def _fulfil(self, session: CDPSession, request: str, answer: DoorAnswer) -> None:
        body = answer.body
        encoded = (
            base64.b64encode(body)
            if len(body) < SMALL_BYTES
            else await asyncio.to_thread(base64.b64encode, body)
        )
        parameters = {
            "requestId": request,
            "responseCode": answer.status,
            "responseHeaders": _shown(answer.headers),
            "body": encoded.decode(),
        }
        if answer.reason:
            parameters["responsePhrase"] = answer.reason
        try:
            await session.send("Fetch.fulfillRequest", parameters)
        except Error:
            # a header or a status that HTTP does not have
            await refuse(session, request)


async def refuse(session: CDPSession, request: str) -> None:
    await session.send(
        "Fetch.failRequest", {"requestId": request, "errorReason": "BlockedByClient"}
    )


def _shown(headers: Headers) -> list[dict[str, str]]:
    return [
        {"name": name, "value": value} for name, value in headers if name.lower() not in OF_TRANSFER
    ]


def _request(event: dict[str, Any], *, is_window: bool, is_of_window: bool) -> DoorRequest:
    asked = event["request"]
    parts = []
    for entry in asked.get("postDataEntries", ()):
        with suppress(binascii.Error):
            parts.append(base64.b64decode(entry.get("bytes", "")))
    return DoorRequest(
        method=asked["method"],
        url=asked["url"],
        headers=list(asked["headers"].items()),
        body=b"".join(parts),
        resource_type=event["resourceType"].lower(),
        is_navigation=is_window,
        is_of_window=is_of_window,
    )
