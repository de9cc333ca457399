"""Events that must never happen while any test looks at a page: an error in the console, a lost
file, a request that leaves loopback.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Request, Response, WebError

LOOPBACK = {"127.0.0.1", "localhost", "::1"}
#: Chromium writes this for each status of 400 and more; `Watch.response` judges those by what they
#: were asked for
LOST_FILE = "Failed to load resource: the server responded"


#: the check of accessibility, which tells of frames that it cannot look into
AXE = "/axe.min.js"


@dataclass
class Watch:
    """Complaints about the contexts that are watched, in the order in which they came up."""

    complaints: list[str] = field(default_factory=list)

    def over(self, context: BrowserContext) -> None:
        context.on("request", self.request)
        context.on("response", self.response)
        context.on("console", self.console)
        context.on("weberror", self.error)

    def request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in LOOPBACK:
            self.complaints.append(f"left loopback: {request.url}")

    def response(self, response: Response) -> None:
        """A page may be refused or missing, where a test asks for that; what a page itself asks for
        has to be there.
        """
        if response.status >= 400 and not response.request.is_navigation_request():
            self.complaints.append(f"{response.status} for {response.url}")

    def console(self, message: ConsoleMessage) -> None:
        is_of_axe = urlsplit(message.location.get("url", "")).path.endswith(AXE)
        if (
            message.type in ("error", "warning")
            and not message.text.startswith(LOST_FILE)
            and not is_of_axe
        ):
            self.complaints.append(f"console: {message.text} ({message.location.get('url')})")

    def error(self, error: WebError) -> None:
        self.complaints.append(f"script: {error.error}")
