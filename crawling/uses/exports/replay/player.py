"""Where ReplayWeb.page is served, and the address at which it shows a run or a page of it."""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port

from crawling.archive.records import began
from crawling.models import Page, Run
from crawling.uses.exports.wacz.origins import origin_of

NOT_INSTALLED = (
    "Replay is off: ReplayWeb.page is not installed on this server. Run make replay, then restart."
)
NOT_REACHABLE = (
    "Replay is off for this address: browsers run ReplayWeb.page only over HTTPS or on the server "
    "itself. Set REPLAY_URL (docs/settings.md)."
)
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")


def no_player(request: HttpRequest) -> str:
    """Why there is no player for the browser of a request; empty: there is one."""
    if not (settings.REPLAY_DIR / "sw.js").is_file():
        return NOT_INSTALLED
    name, _ = split_domain_port(request.get_host())
    return "" if settings.REPLAY_URL or name in LOCAL_NAMES else NOT_REACHABLE


def player_address(run: Run, ticket: str, page: Page | None) -> str:
    """Where the ticket is exchanged; then it leads to the player."""
    shown = {}
    if page:
        at = began(page.fetched_at, page.fetch_seconds)
        shown = {"url": page.url.url, "ts": f"{at:%Y%m%d%H%M%S}"}
    return f"{origin_of(run.pk)}/open/{ticket}{'?' if shown else ''}{urlencode(shown)}"
