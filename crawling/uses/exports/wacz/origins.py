"""The origins of the replay: the site, whose page has the player in a frame, and below it one for
each run, on which the player and scripts of archived pages run; and policies for browsers there.

Origins of runs differ from that of the frame's page, or a script could free itself of the frame
(HTML, `sandbox`). All are of one site, or browsers would withhold the cookies in the frame.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from urllib.parse import urlencode, urlsplit, urlunsplit

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port

from crawling.archive.records import began
from crawling.models import Page, Run
from crawling.uses.exports.player import OFF, is_installed

#: Browsers resolve names below `localhost` to this machine themselves (RFC 6761, 6.3). Cookies and
#: storage of `localhost`, which may be the dashboard's, are not those of this name.
LOCAL_SITE = "replay.localhost"
OF_RUN = re.compile(r"run-([1-9][0-9]{0,18})\.")
NOT_REACHABLE = (
    "Replay is off for this address: browsers run ReplayWeb.page only over HTTPS or on the server "
    "itself. Set REPLAY_URL (docs/settings.md)."
)
LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")
#: the style of the page that has the player in a frame
STYLE = (
    "html, body { margin: 0; height: 100%; overflow: hidden }"
    " body { display: flex; flex-direction: column; font: 1rem/1.4 sans-serif }"
    " p { margin: 0; padding: .5rem 1rem; color: #000; background: #ffe08a }"
    " iframe { border: 0; width: 100%; flex: 1 }"
)
#: The player and archived pages may run scripts on their own origin and send forms there, and no
#: more, in the frame. They may not navigate the window, open another, download, or show dialogs.
SANDBOX = "allow-scripts allow-same-origin allow-forms"
#: The player compiles code, styles itself and shows archived pages in frames of its own origin.
OF_PLAYER = (
    "default-src 'self' blob: data:",
    "script-src 'self' 'unsafe-eval' 'wasm-unsafe-eval' 'unsafe-inline' blob: data:",
    "style-src 'self' 'unsafe-inline'",
    "connect-src 'self' blob: data:",
    "object-src 'none'",
    "form-action 'self'",
    "base-uri 'self'",
)
#: For what Content Security Policy has no directive: WebRTC and connections ahead of requests. The
#: player redirects to the time of a page; where requests are redirected to is for the policy above.
ALLOWS = "webrtc=block; redirects=allow"
ALL = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-DNS-Prefetch-Control": "off",
}


def site() -> str:
    """The origin of the page that has the frame."""
    return settings.REPLAY_URL or f"http://{LOCAL_SITE}:{settings.REPLAY_PORT}"


def origin_of(run_id: int) -> str:
    parts = urlsplit(site())
    return urlunsplit(parts._replace(netloc=f"run-{run_id}.{parts.netloc}"))


def run_asked(host: str) -> int | None:
    """The run whose origin the `Host` of a request names; 0 if it names the site, None if neither.

    The port is not compared: a proxy may have another.
    """
    name, known = _name(host), _name(urlsplit(site()).netloc)
    if name == known:
        return 0
    found = OF_RUN.match(name)
    return int(found[1]) if found and name[found.end() :] == known else None


def _name(host: str) -> str:
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def no_player(request: HttpRequest) -> str:
    """Why there is no player for the browser of a request; empty if there is one."""
    if not is_installed():
        return OFF
    name, _ = split_domain_port(request.get_host())
    return "" if settings.REPLAY_URL or name in LOCAL_NAMES else NOT_REACHABLE


def player_address(run: Run, ticket: str, page: Page | None) -> str:
    """The address at which the ticket is exchanged, which then leads to the player."""
    shown = {}
    if page:
        at = began(page.fetched_at, page.fetch_seconds)
        shown = {"url": page.url.url, "ts": f"{at:%Y%m%d%H%M%S}"}
    return f"{origin_of(run.pk)}/open/{ticket}{'?' if shown else ''}{urlencode(shown)}"


def player_policy() -> str:
    """The policy of everything on the origin of a run."""
    return "; ".join([*OF_PLAYER, f"frame-ancestors 'self' {site()}"])


def player_headers() -> dict[str, str]:
    return {
        "Content-Security-Policy": player_policy(),
        "Connection-Allowlist": f"(response-origin); {ALLOWS}",
        **ALL,
    }


def frame_headers(run_id: int) -> dict[str, str]:
    """The headers of the page with the frame, which can only navigate to its run's origin."""
    style = b64encode(sha256(STYLE.encode()).digest()).decode()
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src 'sha256-{style}'",
            f"frame-src {origin_of(run_id)}",
            "frame-ancestors 'none'",
            "form-action 'none'",
            "base-uri 'none'",
        ]
    )
    return {"Content-Security-Policy": policy, **ALL}
