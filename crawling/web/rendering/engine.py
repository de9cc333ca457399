"""The browser of a program: pages are rendered in it, watched over, and it is started again."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Coroutine
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, CDPSession, Error

from crawling.web.rendering.browser_load import BrowserLoad, LoadWatch
from crawling.web.rendering.browser_start import BROWSER_NAME, DRIVER_NAME, BrowserStart
from crawling.web.rendering.chromium import noted_processes
from crawling.web.rendering.interception import Ask, refuse
from crawling.web.rendering.kept_tabs import LEAVE_SECONDS, KeptTabs
from crawling.web.rendering.page_visit import PageVisit
from crawling.web.rendering.process_tree import (
    is_alive,
    kill_sessions,
    main_thread_seconds,
    memory_of,
    of_sessions,
    processor_seconds,
)
from crawling.web.rendering.types import (
    BrowserFacts,
    BrowserUse,
    PageToRender,
    Rendered,
    RenderVerdict,
)

#: the pages after which a browser is replaced, which keeps a little of each
PAGES_OF_A_BROWSER = 500
#: the time between two measurements of the memory of all pages
LOOK_SECONDS = 0.2
#: the most for the browser's own process and its helpers, beside contexts; it is measured each
#: so many times, since all processes of the machine are looked through for that
OWN_BYTES, OWN_LOOKS = 1024 * 1024 * 1024, 15
#: a page that ends so leaves its context usable
KEPT = {RenderVerdict.RENDERED, RenderVerdict.PARTLY}


class Engine:
    def __init__(self, start: BrowserStart, folder: Path) -> None:
        self._start, self._folder = start, folder
        self._browser: Browser | None = None
        self._starting = asyncio.Lock()
        self._visits: dict[int, PageVisit] = {}
        self._tabs = KeptTabs(self._kill, self._kill_browser)
        self._tasks: set[asyncio.Task[None]] = set()
        #: pages that were taken and whose contexts are not left yet
        self._taken = 0
        self._none_taken = asyncio.Event()
        self._none_taken.set()
        self._pages = self._of_browser = 0
        self._load = LoadWatch()

    async def start(self) -> None:
        """Start a browser. Raises NoBrowserError."""
        browser = self._browser = await self._start.browser()
        self._of_browser = 0
        browser.on("disconnected", self._note_end)
        session = await browser.new_browser_cdp_session()
        known = (await session.send("SystemInfo.getProcessInfo"))["processInfo"]
        own = (int(one["id"]) for one in known if one["type"] == "browser")
        self._load.process = next(own, 0)
        session.on("Fetch.requestPaused", partial(self._take, session))
        await session.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})

    def facts(self, *, has_no_network: bool) -> BrowserFacts:
        version = self._browser.version if self._browser else ""
        return BrowserFacts(version, self._start.is_sandboxed, has_no_network)

    async def render(self, number: int, page: PageToRender, ask: Ask) -> Rendered:
        """Raises NoBrowserError if no browser can be started."""
        for _ in range(2):
            if result := await self._try(number, page, ask):
                return result
        return Rendered(RenderVerdict.CRASHED)

    async def _try(self, number: int, page: PageToRender, ask: Ask) -> Rendered | None:
        """The page; None if the browser had no process for it, and was killed for that."""
        async with self._starting:
            browser = await self._ensure_browser()
            self._taken += 1
            self._none_taken.clear()
        tab = result = None
        with suppress(Error, TimeoutError):
            tab = await self._tabs.tab(browser, page)
            visit = self._visits[number] = PageVisit(tab, page, ask)
            result = await visit.run()
            self._pages += 1
        self._visits.pop(number, None)
        if result and result.verdict is RenderVerdict.CRASHED and tab and not tab.processes:
            result = None
        if result is None:
            self._kill_browser(browser)
        is_usable = result is not None and result.verdict in KEPT
        if tab:
            self._tabs.leave(tab, is_usable=is_usable).add_done_callback(self._note_left)
        else:
            self._note_left()
        return result

    def _note_left(self, _leaving: asyncio.Task[None] | None = None) -> None:
        self._taken -= 1
        if not self._taken:
            self._none_taken.set()

    async def _ensure_browser(self) -> Browser:
        if self._browser and self._of_browser >= PAGES_OF_A_BROWSER:
            await self._none_taken.wait()
            await self._close()
        if not (self._browser and self._browser.is_connected()):
            await self.start()
        assert self._browser
        self._of_browser += 1
        return self._browser

    def _kill(self, processes: set[int]) -> None:
        """Kill processes of pages. Their numbers may belong to others by now if they have ended."""
        for process in processes & self._processes():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def _kill_browser(self, browser: Browser | None) -> None:
        """Kill a browser, unless another has taken its place."""
        if browser and browser is self._browser:
            self.kill_browser()
            self._end_pages(browser, RenderVerdict.CRASHED_BESIDE)

    def kill_browser(self) -> None:
        """Kill the browser with all its processes; pages under way have crashed."""
        kill_sessions(noted_processes(self._folder, BROWSER_NAME))

    def _note_end(self, browser: Browser) -> None:
        is_alone = len(self._visits) == 1
        verdict = RenderVerdict.CRASHED if is_alone else RenderVerdict.CRASHED_BESIDE
        self._end_pages(browser, verdict)

    def _end_pages(self, browser: Browser, verdict: RenderVerdict) -> None:
        if browser is not self._browser:
            return
        self._browser = None
        self._tabs.clear()
        for visit in self._visits.values():
            visit.end(verdict)

    async def _close(self) -> None:
        browser, self._browser = self._browser, None
        self._tabs.clear()
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await browser.close() if browser else None
        self.kill_browser()

    def _take(self, session: CDPSession, event: dict[str, Any]) -> None:
        """Take a request that no page's session has paused: of a shared worker, or of a window that
        a page has opened.
        """
        self._begin(self._answer_worker(session, event))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_worker(self, session: CDPSession, event: dict[str, Any]) -> None:
        with suppress(Error):
            targets = (await session.send("Target.getTargets"))["targetInfos"]
            target: dict[str, Any] = next(
                (one for one in targets if one["targetId"] == event["frameId"]), {}
            )
            for visit in self._visits.values():
                if (
                    target.get("type") == "shared_worker"
                    and target.get("browserContextId") == visit.tab.context_id
                ):
                    visit.requests.take(session, event)
                    return
            await refuse(session, event["requestId"])

    async def watch(self) -> None:
        """End pages that have too much memory, or burden others. Return when the driver has
        ended.
        """
        driver = noted_processes(self._folder, DRIVER_NAME)
        for look in count():
            await asyncio.sleep(LOOK_SECONDS)
            if not is_alive(driver):
                return
            for visit in list(self._visits.values()):
                size = visit.tab.memory_bytes()
                visit.memory_bytes = max(visit.memory_bytes, size)
                if visit.tab.has_died() and self._is_alive():
                    # Chromium does not tell it if its zygote died, too
                    self._begin(visit.confirm_death())
                if size > visit.page.limits.memory_bytes:
                    visit.end(RenderVerdict.TOO_MUCH_MEMORY)
                    self._kill(visit.tab.processes)
            self._end_burdening()
            if self._visits and not look % OWN_LOOKS and self._own_bytes() > OWN_BYTES:
                if len(self._visits) == 1:
                    next(iter(self._visits.values())).end(RenderVerdict.TOO_MUCH_MEMORY)
                self._kill_browser(self._browser)

    def _end_burdening(self) -> None:
        """End the page that leaves the browser's own process no time for others."""
        visits = dict(self._visits)
        worked = {
            number: sum(map(processor_seconds, visit.tab.processes))
            for number, visit in visits.items()
        }
        look = BrowserLoad(time.monotonic(), *main_thread_seconds(self._load.process), worked)
        number = self._load.burdening(look)
        if number is not None:
            visits[number].end(RenderVerdict.BURDENS_OTHERS)
            self._kill(visits[number].tab.processes)

    def _is_alive(self) -> bool:
        """Whether the browser's own process is alive; if not, `_note_end` is called soon."""
        return is_alive(noted_processes(self._folder, BROWSER_NAME))

    def _own_bytes(self) -> int:
        pages = {pid for visit in self._visits.values() for pid in visit.tab.processes}
        pages |= self._tabs.processes()
        return sum(memory_of(pid) for pid in self._processes() - pages)

    def _processes(self) -> set[int]:
        return of_sessions(noted_processes(self._folder, BROWSER_NAME))

    async def picture(self, number: int) -> bytes:
        """A picture of what a page at work shows now; empty if there is no such page, or it does
        not answer.
        """
        visit = self._visits.get(number)
        if visit:
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    return await visit.live_picture()
        return b""

    def memory_of_page(self, number: int) -> int:
        """The highest measured size of a page at work; 0 if there is no such page."""
        visit = self._visits.get(number)
        return visit.memory_bytes if visit else 0

    def use(self) -> BrowserUse:
        size = sum(memory_of(pid) for pid in (*self._processes(), os.getpid()))
        return BrowserUse(self._pages, self._start.count, size)
