"""A page's own doing while it is rendered: routes, dialogs, windows, messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from playwright.async_api import ConsoleMessage, Dialog, Error, Page

from crawling.web.rendering.tab import BrowserTab
from crawling.web.rendering.types import LONGEST_URL, RenderVerdict

MOST_DIALOGS, MOST_WINDOWS = 20, 10
MOST_CONSOLE, LONGEST_CONSOLE = 100, 500
#: a page with more lines and errors is ended: `page_bounds.js` cuts those of its documents alone,
#: and not those of its workers
MOST_MESSAGES = 200
MOST_ROUTES = 50
#: of a page and its states
MOST_ROUTE_LINKS = 2000


class PageEvents:
    """over: called with the verdict of a page that does too much."""

    def __init__(self, tab: BrowserTab, over: Callable[[RenderVerdict], None]) -> None:
        self._tab, self._over = tab, over
        #: addresses that scripts have set, each with the fingerprint of its DOM if it is known
        self.routes: dict[str, str] = {}
        #: links to routes by fragment, as the document has them after each act
        self.route_links: dict[str, None] = {}
        self.console: list[str] = []
        self.dialogs = self.windows = self._messages = 0

    def begin(self) -> None:
        tab = self._tab
        tab.session.on("Page.navigatedWithinDocument", self._note_route)
        tab.page.on("dialog", self._dismiss)
        tab.page.on("console", self._note_console)
        tab.page.on("pageerror", self._note_error)
        tab.context.on("page", self._close_window)

    def end(self) -> None:
        tab = self._tab
        tab.session.remove_listener("Page.navigatedWithinDocument", self._note_route)
        tab.page.remove_listener("dialog", self._dismiss)
        tab.page.remove_listener("console", self._note_console)
        tab.page.remove_listener("pageerror", self._note_error)
        tab.context.remove_listener("page", self._close_window)

    def _note_route(self, event: dict[str, Any]) -> None:
        if event["frameId"] == self._tab.frame and len(self.routes) < MOST_ROUTES:
            self.routes.setdefault(event["url"][:LONGEST_URL], "")

    def note_route_links(self, links: Iterable[str]) -> None:
        for link in links:
            if len(self.route_links) < MOST_ROUTE_LINKS and len(link) <= LONGEST_URL:
                self.route_links[link] = None

    async def _dismiss(self, dialog: Dialog) -> None:
        self.dialogs += 1
        if self.dialogs > MOST_DIALOGS:
            self._over(RenderVerdict.TOO_MANY_DIALOGS)
        with suppress(Error):
            # to dismiss the question of `beforeunload` would be to stay
            await (dialog.accept() if dialog.type == "beforeunload" else dialog.dismiss())

    def _note_console(self, message: ConsoleMessage) -> None:
        self._note_message(message.type, message.text)

    def _note_error(self, error: Error) -> None:
        self._note_message("error", str(error))

    def _note_message(self, kind: str, text: str) -> None:
        self._messages += 1
        if self._messages <= MOST_CONSOLE:
            self.console.append(f"{kind}: {text[:LONGEST_CONSOLE]}")
        elif self._messages > MOST_MESSAGES:
            self._over(RenderVerdict.TOO_MANY_MESSAGES)

    async def _close_window(self, page: Page) -> None:
        self.windows += 1
        if self.windows > MOST_WINDOWS:
            self._over(RenderVerdict.TOO_MANY_WINDOWS)
        with suppress(Error):
            await page.close()
