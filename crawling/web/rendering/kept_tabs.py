"""Contexts between two pages of their host: they are left, kept for a while, or closed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress

from playwright.async_api import Browser, Error

from crawling.web.rendering.tab import BrowserTab, ContextKey, context_key, open_tab
from crawling.web.rendering.types import PageToRender

#: The contexts that are kept for further pages of their host, and what their processes may have in
#: memory; a larger one is closed. A new process costs more than half of a page's processor time
MOST_IDLE, IDLE_BYTES, LARGEST_BYTES = 16, 512 * 1024 * 1024, 128 * 1024 * 1024
OPEN_SECONDS, LEAVE_SECONDS = 10.0, 2.0
#: the time to close a context: all messages of its page that are under way have to be read before
CLOSE_SECONDS = 10.0


class KeptTabs:
    """kill: ends processes of pages. kill_browser: ends a browser that does not close a context."""

    def __init__(
        self, kill: Callable[[set[int]], None], kill_browser: Callable[[Browser | None], None]
    ) -> None:
        self._kill, self._kill_browser = kill, kill_browser
        #: with the bytes in memory when they were left, the one left first at the beginning
        self._idle: OrderedDict[ContextKey, tuple[BrowserTab, int]] = OrderedDict()
        self._leaving: dict[ContextKey, asyncio.Task[None]] = {}

    def clear(self) -> None:
        """Forget all, since their browser has ended."""
        self._idle.clear()

    def processes(self) -> set[int]:
        """The processes of contexts that have no page."""
        return {process for tab, _ in self._idle.values() for process in tab.processes}

    async def tab(self, browser: Browser, page: PageToRender) -> BrowserTab:
        """The context of a page, new or kept, with the page's cookies. Raises Error and
        TimeoutError.
        """
        key = context_key(page)
        if page.context and (leaving := self._leaving.get(key)):
            await asyncio.wait({leaving})
        tab, _ = self._idle.pop(key, (None, 0)) if page.context else (None, 0)
        if not tab:
            async with asyncio.timeout(OPEN_SECONDS):
                tab = await open_tab(browser, page)
        await tab.set_cookies(page.cookies)
        return tab

    def leave(self, tab: BrowserTab, *, is_usable: bool) -> asyncio.Task[None]:
        """Keep a context for the next page of its host, or close it, in the background."""
        leaving = asyncio.ensure_future(self._leave(tab, is_usable=is_usable))
        self._leaving[tab.key] = leaving
        leaving.add_done_callback(self._forget)
        return leaving

    def _forget(self, leaving: asyncio.Task[None]) -> None:
        self._leaving = {key: task for key, task in self._leaving.items() if task is not leaving}

    async def _leave(self, tab: BrowserTab, *, is_usable: bool) -> None:
        closed = [tab]
        if is_usable and tab.key[0] and tab.key not in self._idle:
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    await tab.leave()
                closed = self._keep(tab)
        for one in closed:
            await self._close(one)

    def _keep(self, tab: BrowserTab) -> list[BrowserTab]:
        """Keep a context that was left. Return those that are to be closed for it."""
        size = tab.memory_bytes()
        if size > LARGEST_BYTES:
            return [tab]
        self._idle[tab.key] = tab, size
        closed = []
        while len(self._idle) > MOST_IDLE or self._idle_bytes() > IDLE_BYTES:
            _, (oldest, _) = self._idle.popitem(last=False)
            closed.append(oldest)
        return closed

    def _idle_bytes(self) -> int:
        return sum(size for _, size in self._idle.values())

    async def _close(self, tab: BrowserTab) -> None:
        self._kill(tab.processes)
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await tab.context.close()
        except Error:
            pass  # the browser died
        except TimeoutError:
            self._kill_browser(tab.context.browser)
