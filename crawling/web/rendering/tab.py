"""A page of the browser, in a context of its own, and the calls of our script there."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext, CDPSession, Error, Page

from crawling.web.rendering.process_tree import memory_of
from crawling.web.rendering.types import PageToRender

SCRIPT = Path(__file__).with_name("page_script.js")
#: the world of our script beside that of the page
WORLD = "crawl"
#: a request of an empty page, which tells the process that the page has
OF_PROCESS = "http://process.invalid/"
#: what pages do not find: it is of no use without a network, and opens sockets all the same
WITHOUT = """for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'WebTransport'])
  delete globalThis[name];"""
#: a document may be replaced between two calls
MOST_TRIES = 5

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


@dataclass(eq=False, slots=True)
class Tab:
    key: ContextKey
    context: BrowserContext
    page: Page
    session: CDPSession
    frame: str
    #: Chromium's name of the context
    context_id: str
    #: the processes of its documents, which requests name
    processes: set[int] = field(default_factory=set)

    def memory_bytes(self) -> int:
        sizes = {process: memory_of(process) for process in self.processes}
        self.processes -= {process for process, size in sizes.items() if not size}
        return sum(sizes.values())

    async def call(self, expression: str) -> Any:
        """The value of an expression in the world of our script. Raises Error and ReplacedError."""
        for _ in range(MOST_TRIES):
            with suppress(_GoneError):
                return await self._call(expression)
        raise ReplacedError

    async def _call(self, expression: str) -> Any:
        try:
            world = await self.session.send(
                "Page.createIsolatedWorld", {"frameId": self.frame, "worldName": WORLD}
            )
            answer = await self.session.send(
                "Runtime.evaluate",
                {
                    "expression": f"crawlPage.{expression}",
                    "contextId": world["executionContextId"],
                    "awaitPromise": True,
                    "returnByValue": True,
                },
            )
        except Error as error:
            if "context" in str(error) or "navigated" in str(error):
                raise _GoneError from error
            raise
        if "exceptionDetails" in answer:
            raise Error(json.dumps(answer["exceptionDetails"])[:400])
        return answer["result"].get("value")


class _GoneError(Exception):
    """The document of a call is no more."""


async def open_tab(browser: Browser, page: PageToRender) -> Tab:
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
        await context.add_init_script(WITHOUT)
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
    return Tab(
        context_key(page), context, opened, session, target["targetId"], target["browserContextId"]
    )
