"""The policies for browsers on answers of the replay's server: where documents may connect to, and
who may frame them.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

from crawling.uses.exports.wacz.origins import origin_of, site

#: of the page that has the player in a frame
STYLE = (
    "html, body { margin: 0; height: 100%; overflow: hidden }"
    " body { display: flex; flex-direction: column; font: 1rem/1.4 sans-serif }"
    " p { margin: 0; padding: .5rem 1rem; color: #000; background: #ffe08a }"
    " iframe { border: 0; width: 100%; flex: 1 }"
)
#: The player and archived pages may run scripts on their own origin and send forms there, and no
#: more, in the frame. Not: navigate the window, open another, download, ask by a dialog.
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
    """The headers of the page with the frame, which can be led nowhere but to its run's origin."""
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
