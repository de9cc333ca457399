"""The browser of a program: started, watched over, and started again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, CDPSession, Error, Playwright

from crawling.web.rendering.chromium import (
    NOBODY,
    NOT_WANTED,
    flags,
    noted_processes,
    write_launcher,
)
from crawling.web.rendering.interception import Ask, refuse
from crawling.web.rendering.page_visit import PageVisit
from crawling.web.rendering.process_tree import is_alive, kill_sessions, memory_of, of_sessions
from crawling.web.rendering.tab import ContextKey, Tab, context_key, open_tab
from crawling.web.rendering.types import (
    BrowserFacts,
    BrowserUse,
    NoBrowserError,
    PageToRender,
    Rendered,
    Verdict,
)

#: the launchers of the driver and of the browser
DRIVER_NAME, BROWSER_NAME = "driver", "chromium"
#: the pages after which a browser is replaced, which keeps a little of each
PAGES_OF_A_BROWSER = 500
#: the contexts that are kept for further pages of their host
MOST_IDLE = 4
#: the time between two measurements of the memory of all pages
LOOK_SECONDS = 0.2
START_SECONDS, OPEN_SECONDS, LEAVE_SECONDS = 20, 10.0, 2.0
#: the time to close a context: what its page has still to say has to be read before
CLOSE_SECONDS = 10.0
#: the most for the browser's own process and its helpers, beside the pages
OWN_BYTES = 1024 * 1024 * 1024
#: shared memory is in /dev/shm if there is so much, or else in files of the folder
SHARED_BYTES = 1024 * 1024 * 1024
#: a page that ends so leaves its context usable
KEPT = {Verdict.RENDERED, Verdict.PARTLY}


class Engine:
    def __init__(
        self,
        playwright: Playwright,
        folder: Path,
        executable: str,
        memory_bytes: int,
        *,
        has_no_network: bool,
    ) -> None:
        self._playwright, self._folder, self._memory = playwright, folder, memory_bytes
        self._has_no_network = has_no_network
        user = NOBODY if os.geteuid() == 0 else None
        self._launcher = write_launcher(folder, BROWSER_NAME, executable, user)
        self._browser: Browser | None = None
        self._session: CDPSession | None = None
        self._starting = asyncio.Lock()
        self._visits: dict[int, PageVisit] = {}
        self._idle: OrderedDict[ContextKey, Tab] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()
        self._leaving: dict[ContextKey, asyncio.Task[None]] = {}
        self._no_visits = asyncio.Event()
        self._no_visits.set()
        self._taken = self._pages = self._browsers = self._of_browser = 0
        self._is_sandboxed = True

    def facts(self) -> BrowserFacts:
        version = self._browser.version if self._browser else ""
        return BrowserFacts(version, self._is_sandboxed, self._has_no_network)

    async def start(self) -> None:
        """Start a browser. Raises NoBrowserError."""
        try:
            self._browser = await self._launch()
        except Error:
            if not self._is_sandboxed:
                raise NoBrowserError("Chromium does not start again.") from None
            self._is_sandboxed = False  # the kernel may not let a user make namespaces
            try:
                self._browser = await self._launch()
            except Error as error:
                raise NoBrowserError(f"Chromium does not start: {str(error)[:400]}") from error
        self._browsers += 1
        self._of_browser = 0
        self._browser.on("disconnected", self._note_end)
        self._session = await self._browser.new_browser_cdp_session()
        self._session.on("Fetch.requestPaused", self._take)
        await self._session.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})

    async def _launch(self) -> Browser:
        has_room = os.statvfs("/dev/shm").f_bavail * os.sysconf("SC_PAGESIZE") > SHARED_BYTES  # noqa: S108
        unwanted = [*NOT_WANTED, "--disable-dev-shm-usage"] if has_room else NOT_WANTED
        return await self._playwright.chromium.launch(
            executable_path=self._launcher,
            args=flags(self._memory),
            ignore_default_args=unwanted,
            chromium_sandbox=self._is_sandboxed,
            env={"HOME": str(self._folder), "TMPDIR": str(self._folder), "PATH": os.defpath},
            handle_sigterm=False,
            timeout=START_SECONDS * 1000,
        )

    async def render(self, number: int, page: PageToRender, ask: Ask) -> Rendered:
        """Raises NoBrowserError if no browser can be started."""
        for _ in range(2):
            if result := await self._try(number, page, ask):
                return result
        return Rendered(Verdict.CRASHED)

    async def _try(self, number: int, page: PageToRender, ask: Ask) -> Rendered | None:
        """The page; None if the browser had no process for it, and was killed for that."""
        async with self._starting:
            browser = await self._ensure_browser()
            self._taken += 1
            self._no_visits.clear()
        tab = result = None
        with suppress(Error, TimeoutError):
            tab = await self._tab(browser, page)
            visit = self._visits[number] = PageVisit(tab, page, ask)
            result = await visit.run()
            self._pages += 1
        self._visits.pop(number, None)
        if result and result.verdict is Verdict.CRASHED and tab and not tab.processes:
            result = None
        if result is None:
            self._kill_browser(browser)
        self._begin_to_leave(tab, result.verdict if result else Verdict.CRASHED)
        return result

    def _begin_to_leave(self, tab: Tab | None, verdict: Verdict) -> None:
        leaving = asyncio.ensure_future(self._leave(tab, verdict) if tab else asyncio.sleep(0))
        if tab:
            self._leaving[tab.key] = leaving
        leaving.add_done_callback(self._note_left)

    def _note_left(self, leaving: asyncio.Task[None]) -> None:
        self._leaving = {key: task for key, task in self._leaving.items() if task is not leaving}
        self._taken -= 1
        if not self._taken:
            self._no_visits.set()

    async def _ensure_browser(self) -> Browser:
        if self._browser and self._of_browser >= PAGES_OF_A_BROWSER:
            await self._no_visits.wait()
            await self._close()
        if not (self._browser and self._browser.is_connected()):
            await self.start()
        assert self._browser
        self._of_browser += 1
        return self._browser

    async def _tab(self, browser: Browser, page: PageToRender) -> Tab:
        key = context_key(page)
        if page.context and (leaving := self._leaving.get(key)):
            await asyncio.wait({leaving})
        tab = self._idle.pop(key, None) if page.context else None
        if not tab:
            async with asyncio.timeout(OPEN_SECONDS):
                tab = await open_tab(browser, page)
        await tab.set_cookies(page.cookies)
        return tab

    async def _leave(self, tab: Tab, verdict: Verdict) -> None:
        """Keep a context for the next page of its host, or close it."""
        if verdict in KEPT and tab.key[0] and tab.key not in self._idle:
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    await tab.leave()
                self._idle[tab.key] = tab
                if len(self._idle) <= MOST_IDLE:
                    return
                _, tab = self._idle.popitem(last=False)
        self._kill(tab.processes)
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await tab.context.close()
        except Error:
            pass  # the browser died
        except TimeoutError:
            self._kill_browser(tab.context.browser)

    def _kill(self, processes: set[int]) -> None:
        """Kill processes of pages. Their numbers may belong to others by now if they have ended."""
        for process in processes & self._processes():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def _kill_browser(self, browser: Browser | None) -> None:
        """Kill a browser, unless another has taken its place."""
        if browser and browser is self._browser:
            self.kill_browser()
            self._note_end(browser)

    def kill_browser(self) -> None:
        """Kill the browser with all its processes; pages under way have crashed."""
        kill_sessions(noted_processes(self._folder, BROWSER_NAME))

    def _note_end(self, browser: Browser) -> None:
        if browser is not self._browser:
            return
        self._browser = None
        self._idle.clear()
        for visit in self._visits.values():
            visit.end(Verdict.CRASHED)

    async def _close(self) -> None:
        browser, self._browser = self._browser, None
        self._idle.clear()
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await browser.close() if browser else None
        self.kill_browser()

    def _take(self, event: dict[str, Any]) -> None:
        """Take a request that no page's session has paused: of a shared worker, or of a window that
        a page has opened.
        """
        task = asyncio.ensure_future(self._answer_worker(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_worker(self, event: dict[str, Any]) -> None:
        session = self._session
        assert session
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
        """End pages that have too much memory. Return when the driver has ended."""
        driver = noted_processes(self._folder, DRIVER_NAME)
        while is_alive(driver):
            await asyncio.sleep(LOOK_SECONDS)
            for visit in list(self._visits.values()):
                size = visit.tab.memory_bytes()
                visit.memory_bytes = max(visit.memory_bytes, size)
                if visit.tab.has_died():  # Chromium does not tell it if its zygote died, too
                    visit.end(Verdict.CRASHED)
                if size > visit.page.limits.memory_bytes:
                    visit.end(Verdict.TOO_MUCH_MEMORY)
                    self._kill(visit.tab.processes)
            if self._visits and self._own_bytes() > OWN_BYTES:
                for visit in self._visits.values():
                    visit.end(Verdict.TOO_MUCH_MEMORY)
                self.kill_browser()

    def _own_bytes(self) -> int:
        pages = {pid for visit in self._visits.values() for pid in visit.tab.processes}
        return sum(memory_of(pid) for pid in self._processes() - pages)

    def _processes(self) -> set[int]:
        return of_sessions(noted_processes(self._folder, BROWSER_NAME))

    async def picture(self, number: int) -> bytes:
        """What a page at work shows now; empty if there is no such page or it does not answer."""
        visit = self._visits.get(number)
        if visit:
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    return await visit.live_picture()
        return b""

    def use(self) -> BrowserUse:
        size = sum(memory_of(pid) for pid in (*self._processes(), os.getpid()))
        return BrowserUse(self._pages, self._browsers, size)
