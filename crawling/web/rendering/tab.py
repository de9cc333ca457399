"""A page of the browser, in a context of its own, and the calls of our script there."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import (
    Browser,
    BrowserContext,
    CDPSession,
    Error,
    Page,
)

from crawling.web.rendering.process_tree import exists, memory_of
from crawling.web.rendering.types import BrowserCookie, PageToRender

#: scripts of ours: one in a world of its own, one in that of the page
SCRIPT, BOUNDS = map(Path(__file__).with_name, ("page_script.js", "page_bounds.js"))
#: the world of our script beside that of the page
WORLD = "crawl"
#: a request that tells the process that the page has; http would be none on pages of https
OF_PROCESS = "https://process.invalid/"
#: a document may be replaced between two calls
MOST_TRIES = 5
#: Chromium's words for a call in a document that was replaced meanwhile
GONE = "Cannot find context", "Execution context was destroyed", "Inspected target navigated"

#: all that pages of one context have in common
ContextKey = tuple[str, str, str, int, int]


def context_key(page: PageToRender) -> ContextKey:
    limits = page.limits
    return page.context, page.user_agent, page.accept_language, limits.width, limits.height


class ReplacedError(Exception):
    """The document was replaced again and again while a script of ours was to run."""


@cache
def _script() -> str:
    return SCRIPT.read_text()


@dataclass(eq=False)  # no slots: Playwright sets an attribute of objects whose methods it calls
class BrowserTab:
    key: ContextKey
    context: BrowserContext
    page: Page
    session: CDPSession
    frame: str
    #: Chromium's name of the context
    context_id: str
    #: the processes of its documents, which requests name
    processes: set[int] = field(default_factory=set)
    #: Chromium's number of the world of our script in the present document, once it is known
    _world: int | None = None

    def memory_bytes(self) -> int:
        return sum(map(memory_of, self.processes))

    def has_died(self) -> bool:
        """Whether no process of the page is left. False if none is known."""
        return bool(self.processes) and not any(map(exists, self.processes))

    async def ask_process(self) -> None:
        """Let the page make a request, which tells its process. Raises Error."""
        await self.session.send(
            "Runtime.evaluate",
            {
                "expression": f"fetch('{OF_PROCESS}', {{mode: 'no-cors'}}).catch(() => 0)",
                "awaitPromise": True,
            },
        )

    async def set_cookies(self, cookies: Iterable[BrowserCookie]) -> None:
        """Raises Error."""
        await self.session.send("Network.clearBrowserCookies")
        given = [
            {
                **{"name": cookie.name, "value": cookie.value, "domain": cookie.domain},
                **{"path": cookie.path, "secure": cookie.is_secure},
                "httpOnly": cookie.is_http_only,
            }
            for cookie in cookies
        ]
        if given:
            await self.session.send("Network.setCookies", {"cookies": given})

    async def leave(self) -> None:
        """Leave the page, so that nothing of it goes on. Raises Error."""
        await self.session.send("Page.navigate", {"url": "about:blank"})
        # no answer comes while a script of the page, which may run as it is left, has the thread
        await self.session.send("Runtime.evaluate", {"expression": "0"})

    async def call(self, expression: str) -> Any:
        """The value of an expression in the world of our script. Raises Error and ReplacedError."""
        for _ in range(MOST_TRIES):
            with suppress(_GoneError):
                return await self._call(expression)
        raise ReplacedError

    def note_navigation(self, event: dict[str, Any]) -> None:
        if event["frame"]["id"] == self.frame:
            self._world = None

    async def _call(self, expression: str) -> Any:
        try:
            answer = await self.session.send(
                "Runtime.evaluate",
                {
                    "expression": f"crawlPage.{expression}",
                    "contextId": await self._world_of_document(),
                    "awaitPromise": True,
                    "returnByValue": True,
                },
            )
        except Error as error:
            self._world = None
            if any(words in str(error) for words in GONE):
                raise _GoneError from error
            raise
        if "exceptionDetails" in answer:
            raise Error(json.dumps(answer["exceptionDetails"])[:400])
        return answer["result"].get("value")

    async def _world_of_document(self) -> int:
        if self._world is None:
            made = await self.session.send(
                "Page.createIsolatedWorld", {"frameId": self.frame, "worldName": WORLD}
            )
            self._world = int(made["executionContextId"])
        return self._world


class _GoneError(Exception):
    """The document of a call is no more."""


async def open_tab(browser: Browser, page: PageToRender) -> BrowserTab:
    """A new context with one empty page. Raises Error."""
    language = page.accept_language
    context = await browser.new_context(
        user_agent=page.user_agent,
        viewport={"width": page.limits.width, "height": page.limits.height},
        locale=language.split(",")[0].split(";")[0].strip() or None,
        extra_http_headers={"Accept-Language": language} if language else None,
        accept_downloads=False,
        service_workers="block",
        reduced_motion="reduce",
    )
    try:
        await context.add_init_script(path=BOUNDS)
        opened = await context.new_page()
        session = await context.new_cdp_session(opened)
        target = (await session.send("Target.getTargetInfo"))["targetInfo"]
        await session.send("Page.enable")
        await session.send(
            "Page.addScriptToEvaluateOnNewDocument", {"source": _script(), "worldName": WORLD}
        )
        await session.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
    except BaseException:
        with suppress(Error):
            await context.close()
        raise
    tab = BrowserTab(
        context_key(page), context, opened, session, target["targetId"], target["browserContextId"]
    )
    session.on("Page.frameNavigated", tab.note_navigation)
    return tab
