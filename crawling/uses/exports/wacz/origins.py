"""The origins of a replay. The page with the player's frame has the site's own origin. Below it,
each run has an origin for the player and for the scripts of its archived pages. Also the policies
for browsers there.

The origins of runs differ from the origin of the page with the frame, since a script could
otherwise leave the frame (HTML, `sandbox`). All belong to one site, since browsers would otherwise
withhold the cookies in the frame.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from urllib.parse import urlencode, urlsplit, urlunsplit

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port

from crawling.archive.records import start_of_fetch
from crawling.models import Page, Run
from crawling.uses.exports.player import OFF, is_installed

#: Browsers resolve names below `localhost` to this machine themselves (RFC 6761, 6.3). This name
#: has other cookies and another storage than `localhost`, which the dashboard may use.
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
#: In the frame, the player and archived pages may run scripts on their own origin and send forms to
#: it, and may do nothing else: they cannot navigate the window, open another window, download
#: files, or show dialogs.
SANDBOX = "allow-scripts allow-same-origin allow-forms"
#: The player compiles code, has inline styles, and shows archived pages in frames of its own
#: origin.
OF_PLAYER = (
    "default-src 'self' blob: data:",
    "script-src 'self' 'unsafe-eval' 'wasm-unsafe-eval' 'unsafe-inline' blob: data:",
    "style-src 'self' 'unsafe-inline'",
    "connect-src 'self' blob: data:",
    "object-src 'none'",
    "form-action 'self'",
    "base-uri 'self'",
)
#: For connections for which Content Security Policy has no directive: WebRTC, and connections that
#: precede requests. The player redirects to the address of a page with its time; the policy above
#: applies to the targets of redirects.
ALLOWS = "webrtc=block; redirects=allow"
ALL = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-DNS-Prefetch-Control": "off",
}


def origin_of_frame() -> str:
    """The origin of the page with the frame."""
    return settings.REPLAY_URL or f"http://{LOCAL_SITE}:{settings.REPLAY_PORT}"


def origin_of(run_id: int) -> str:
    parts = urlsplit(origin_of_frame())
    return urlunsplit(parts._replace(netloc=f"run-{run_id}.{parts.netloc}"))


def requested_run(host: str) -> int | None:
    """The run whose origin the `Host` header names; 0 if the header names the site, None if it
    names neither.

    The port is not compared, since a proxy may have another.
    """
    name, known = _host_name(host), _host_name(urlsplit(origin_of_frame()).netloc)
    if name == known:
        return 0
    found = OF_RUN.match(name)
    return int(found[1]) if found and name[found.end() :] == known else None


def _host_name(host: str) -> str:
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def player_obstacle(request: HttpRequest) -> str:
    """The reason why the player does not work in the browser of a request; empty if it does."""
    if not is_installed():
        return OFF
    name, _ = split_domain_port(request.get_host())
    return "" if settings.REPLAY_URL or name in LOCAL_NAMES else NOT_REACHABLE


def player_address(run: Run, ticket: str, page: Page | None) -> str:
    """The address at which the ticket is exchanged, and which then redirects to the player."""
    shown = {}
    if page:
        at = start_of_fetch(page.fetched_at, page.fetch_seconds)
        shown = {"url": page.url.url, "ts": f"{at:%Y%m%d%H%M%S}"}
    return f"{origin_of(run.pk)}/open/{ticket}{'?' if shown else ''}{urlencode(shown)}"


def player_policy() -> str:
    """The policy of all answers on the origin of a run."""
    return "; ".join([*OF_PLAYER, f"frame-ancestors 'self' {origin_of_frame()}"])


def player_headers() -> dict[str, str]:
    return {
        "Content-Security-Policy": player_policy(),
        "Connection-Allowlist": f"(response-origin); {ALLOWS}",
        **ALL,
    }


def frame_headers(run_id: int) -> dict[str, str]:
    """The headers of the page with the frame. The frame can navigate only to its run's origin."""
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
