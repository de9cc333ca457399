"""Where ReplayWeb.page is served, and the address at which it shows a run or a page of it."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port

from crawling.archive.records import began
from crawling.models import Page, Run

NOT_INSTALLED = (
    "Replay is off: ReplayWeb.page is not installed on this server. Run make replay, then restart."
)
NOT_REACHABLE = (
    "Replay is off for this address: browsers run ReplayWeb.page only over HTTPS or on the server "
    "itself. Set REPLAY_URL (docs/settings.md)."
)
#: Cookies are of a host, whatever the port. So the player is opened under another name of this
#: machine than the dashboard.
OTHER_NAMES = {"127.0.0.1": "localhost", "localhost": "127.0.0.1", "[::1]": "localhost"}


def player_of(request: HttpRequest) -> tuple[str, str]:
    """The origin of the player, or a sentence why there is none."""
    if not (settings.REPLAY_DIR / "sw.js").is_file():
        return "", NOT_INSTALLED
    if settings.REPLAY_URL:
        return settings.REPLAY_URL, ""
    name, _ = split_domain_port(request.get_host())
    other = OTHER_NAMES.get(name)
    return (f"http://{other}:{settings.REPLAY_PORT}", "") if other else ("", NOT_REACHABLE)


def player_address(origin: str, run: Run, token: str, page: Page | None) -> str:
    source = f"{origin}/archive/{token}/crawl-{run.crawl_id}-run-{run.number}.wacz"
    shown = {"view": "pages"}
    if page:
        at = began(page.fetched_at, page.fetch_seconds)
        shown |= {"url": page.url.url, "ts": f"{at:%Y%m%d%H%M%S}"}
    return f"{origin}/?source={quote(source, safe='')}#{urlencode(shown)}"
