"""One page from its document to the DOM after its scripts: it is waited for, scrolled, clicked and
read, within its limits.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from contextlib import suppress
from typing import Any

from playwright.async_api import Error, Page

from crawling.web.rendering.interception import Ask, Interception
from crawling.web.rendering.page_events import PageEvents
from crawling.web.rendering.pictures import JPEG_QUALITY, smaller
from crawling.web.rendering.tab import BrowserTab, ReplacedError
from crawling.web.rendering.types import (
    LONGEST_URL,
    PageState,
    PageToRender,
    RenderCounts,
    Rendered,
    RenderedDocument,
    RenderVerdict,
    Route,
)

#: a page is quiet when neither its DOM nor its requests did anything for so long
QUIET_SECONDS = 0.4
#: what a scroll or a click causes has begun by then
EFFECT_SECONDS = 0.15
#: the part of the time limit for waiting, scrolling and clicking; the rest is for reading the page
WAITING_SHARE = 0.7
#: The time to read a page that has exceeded a limit, whose scripts may never let go. It is a part
#: of the time limit
LAST_LOOK_SECONDS = 2.0
#: the time for a new process of a page to tell its number
CONFIRM_SECONDS = 1.0
#: the sides of smaller pictures, as parts of those of the screenshot
THUMBNAIL_PART, LIVE_PART = 4, 2
#: a page that another verdict ends has no document that could be read, or burdens others, so that
#: its process is to end at once
READ = {
    *(RenderVerdict.TOO_LONG, RenderVerdict.TOO_MANY_DIALOGS, RenderVerdict.TOO_MANY_WINDOWS),
    RenderVerdict.TOO_MANY_NAVIGATIONS,
}


class PageVisit:
    def __init__(self, tab: BrowserTab, page: PageToRender, ask: Ask) -> None:
        self.tab, self.page = tab, page
        self.requests = Interception(tab, page, ask, self.end)
        self.events = PageEvents(tab, self.end)
        self._over: asyncio.Future[RenderVerdict] = asyncio.get_running_loop().create_future()
        self._began = time.monotonic()
        self._deadline = self._began + page.limits.seconds * WAITING_SHARE
        self._last_look_seconds = min(LAST_LOOK_SECONDS, page.limits.seconds / 4)
        self._states: list[PageState] = []
        self._known: set[str] = set()
        self._scrolls = 0
        self.memory_bytes = 0

    def end(self, verdict: RenderVerdict) -> None:
        """End the page with a verdict, unless it has one."""
        if not self._over.done():
            self._over.set_result(verdict)

    async def confirm_death(self) -> None:
        """End the page if it has no process any more. A navigation to another site of its host,
        such as from http to https, gives it a new one.
        """
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(CONFIRM_SECONDS):
                await self.tab.ask_process()
        if self.tab.has_died():
            self.end(RenderVerdict.CRASHED)

    async def run(self) -> Rendered:
        self._listen()
        work = asyncio.ensure_future(self._work())
        try:
            await asyncio.wait(
                (work, self._over),
                timeout=self.page.limits.seconds - self._last_look_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if work.done() and not self._over.done():
                return await self._of_work(work)
            verdict = self._over.result() if self._over.done() else RenderVerdict.TOO_LONG
            work.cancel()
            self.requests.close()
            return await self._last_look(verdict)
        finally:
            work.cancel()
            self.requests.close()
            self._stop_listening()
            with suppress(Error, asyncio.CancelledError, ReplacedError):
                await work

    async def _of_work(self, work: asyncio.Task[Rendered]) -> Rendered:
        try:
            return work.result()
        except ReplacedError:
            return self._result(RenderVerdict.TOO_MANY_NAVIGATIONS)
        except Error:
            # The process of the page is gone, of which another event tells the reason
            with suppress(TimeoutError):
                return self._result(await asyncio.wait_for(self._over, EFFECT_SECONDS))
            return self._result(RenderVerdict.CRASHED)

    async def _last_look(self, verdict: RenderVerdict) -> Rendered:
        """The result of a page that has exceeded a limit, with its DOM if it still answers."""
        if verdict in READ:
            with suppress(Error, TimeoutError, ReplacedError):
                async with asyncio.timeout(self._last_look_seconds):
                    # a script that runs for ever is stopped; timers would start it again
                    await self.tab.session.send("Runtime.terminateExecution")
                    return self._result(verdict, await self._content(is_last=True))
        return self._result(verdict)

    async def _work(self) -> Rendered:
        verdict = await self._open()
        if verdict is not RenderVerdict.RENDERED:
            return self._result(verdict)
        is_quiet = await self._settle()
        is_quiet = await self._scroll() and is_quiet
        is_quiet = await self._click() and is_quiet
        content = await self._content(is_last=True)
        picture = thumbnail = b""
        if self.page.wants_picture and (picture := await self._picture()):
            thumbnail = await asyncio.to_thread(smaller, picture, THUMBNAIL_PART)
        is_whole = is_quiet and not content["isCut"]
        verdict = RenderVerdict.RENDERED if is_whole else RenderVerdict.PARTLY
        return self._result(verdict, content, picture, thumbnail)

    async def _open(self) -> RenderVerdict:
        session = self.tab.session
        if not self.tab.processes:
            await self.tab.ask_process()
        answer = await session.send("Page.navigate", {"url": self.page.url})
        if answer.get("isDownload") or answer.get("errorText"):
            return RenderVerdict.NOT_SHOWN
        return RenderVerdict.RENDERED

    async def _settle(self, quiet_seconds: float = QUIET_SECONDS) -> bool:
        """Wait until the page is quiet. Return whether it is before the waiting has to end."""
        while (left := self._deadline - time.monotonic()) > 0:
            if await self._await_requests(quiet_seconds, left):
                left = max(0.0, self._deadline - time.monotonic())
                quiet, bound = round(quiet_seconds * 1000), round(left * 1000)
                is_settled = await self.tab.call(f"settled({quiet}, {bound})")
                if is_settled and self.requests.are_quiet_for(quiet_seconds):
                    await self._note_place()
                    return True
            quiet_seconds = QUIET_SECONDS
        return False

    async def _await_requests(self, quiet_seconds: float, left: float) -> bool:
        """Whether no request of the page was under way for so long. If not, this waits meanwhile,
        for `left` seconds at most.
        """
        requests = self.requests
        if requests.are_quiet_for(quiet_seconds):
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await requests.is_idle.wait()
                await asyncio.sleep(quiet_seconds - (time.monotonic() - requests.active_at))
        return False

    async def _note_place(self) -> None:
        """Note which DOM the present address has, if a script has set it."""
        if self.events.routes:
            place = await self.tab.call("place()")
            if place["url"] in self.events.routes:
                self.events.routes[place["url"]] = place["fingerprint"]

    async def _scroll(self) -> bool:
        """Scroll to the end, and to what appears there. Return whether the page was quiet then."""
        for step in range(self.page.limits.scrolls):
            if not await self.tab.call(f"scroll({self.page.limits.scrolls - step})"):
                break
            self._scrolls += 1
            if not await self._settle_after(EFFECT_SECONDS):
                return False
        return True

    async def _settle_after(self, quiet_seconds: float) -> bool:
        """As `_settle`, after a scroll or a click. The page was quiet before it, and nothing tells
        that it has no effect.
        """
        await asyncio.sleep(EFFECT_SECONDS)
        return await self._settle(quiet_seconds)

    async def _click(self) -> bool:
        """Click on what shows more, until nothing changes. Return whether the page was quiet."""
        left = self.page.limits.html_bytes
        for _ in range(self.page.clicks):
            clicked = await self.tab.call("click()")
            if not clicked:
                break
            self._known.add(clicked["fingerprint"])
            if not await self._settle_after(QUIET_SECONDS):
                return False
            content = await self._content()
            fingerprint = content["fingerprint"]
            if fingerprint in self._known:
                await self.tab.call("giveUpClicked()")
                continue
            self._known.add(fingerprint)
            html = content["html"] if len(content["html"]) <= left else ""
            left -= len(html)
            self._states.append(
                PageState(clicked["label"], content["url"][:LONGEST_URL], fingerprint, html)
            )
        return True

    async def _content(self, *, is_last: bool = False) -> dict[str, Any]:
        """The document as it is now. Raises Error and ReplacedError."""
        asked = f"content({self.page.limits.html_bytes}, {json.dumps(is_last)})"
        content: dict[str, Any] = await self.tab.call(asked)
        self.events.note_route_links(content["routeLinks"])
        return content

    async def _picture(self) -> bytes:
        answer = await self.tab.session.send(
            "Page.captureScreenshot",
            {"format": "jpeg", "quality": JPEG_QUALITY, "optimizeForSpeed": True},
        )
        picture = base64.b64decode(answer["data"])
        return picture if len(picture) <= self.page.limits.picture_bytes else b""

    async def live_picture(self) -> bytes:
        """A picture of what the window shows now. Raises Error."""
        picture = await self._picture()
        return await asyncio.to_thread(smaller, picture, LIVE_PART) if picture else b""

    def _result(
        self,
        verdict: RenderVerdict,
        content: dict[str, Any] | None = None,
        picture: bytes = b"",
        thumbnail: bytes = b"",
    ) -> Rendered:
        found = content or {}
        most = self.page.limits.html_bytes
        requests, events = self.requests, self.events
        return Rendered(
            verdict=verdict,
            document=RenderedDocument(
                url=found.get("url", "")[:LONGEST_URL],
                html=found.get("html", "")[:most],
                text=found.get("text", "")[:most],
                title=found.get("title", "")[:LONGEST_URL],
                fingerprint=found.get("fingerprint", ""),
                route_links=tuple(events.route_links),
            ),
            picture=picture,
            thumbnail=thumbnail,
            routes=tuple(Route(url, mark) for url, mark in events.routes.items()),
            states=tuple(self._states),
            console=tuple(events.console),
            failed_requests=tuple(requests.failed),
            counts=RenderCounts(
                requests=requests.counts.requests,
                body_bytes=requests.counts.body_bytes,
                dialogs=events.dialogs,
                windows=events.windows,
                scrolls=self._scrolls,
                seconds=time.monotonic() - self._began,
                memory_bytes=self.memory_bytes,
            ),
        )

    def _listen(self) -> None:
        self.events.begin()
        self.tab.session.on("Fetch.requestPaused", self._take)
        self.tab.page.on("crash", self._note_crash)

    def _stop_listening(self) -> None:
        self.events.end()
        self.tab.session.remove_listener("Fetch.requestPaused", self._take)
        self.tab.page.remove_listener("crash", self._note_crash)

    def _take(self, event: dict[str, Any]) -> None:
        self.requests.take(self.tab.session, event)

    def _note_crash(self, _page: Page) -> None:
        # V8 and the kernel end a process that has used up its memory before it is measured
        is_large = self.memory_bytes > self.page.limits.memory_bytes / 2
        self.end(RenderVerdict.TOO_MUCH_MEMORY if is_large else RenderVerdict.CRASHED)
