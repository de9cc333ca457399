"""Pages by which a stranger attacks a browser. Each is a file in `hostile/`; `/after.html` is
harmless, and shows whether a browser still works.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.servers import Reply, Request, Site, serve_site
from tests.webs.rendered.expected import FOLDER
from tests.webs.rendered.serving import files_of

#: names of pages, and the harm that each does; the path is `/NAME.html`
HOSTILE = {
    "alerts": "shows alert, confirm and prompt without end",
    "buffers": "keeps 64 MiB more outside of the script's heap, again and again",
    "canvas": "keeps canvases of 8192 x 8192 pixels",
    "chain": "opens a window, which opens the next one, without end",
    "chatter": "has a worker, and a worker of that, that write to the console without end",
    "console": "writes lines of 1 MiB to the console",
    "data": "sends requests that the browser answers by itself, without end",
    "dom": "appends 10,000 elements, again and again",
    "downloads": "begins 100 downloads",
    "errors": "has 10,000 errors of 10,000 characters",
    "frames": "adds and removes frames without end",
    "graphics": "has a shader that keeps the GPU process busy",
    "heap": "fills the script's heap",
    "history": "adds entries to the history and changes the address without end",
    "hoard": "has a worker that keeps 64 MiB more, again and again",
    "inside": "tries loopback, link-local and local addresses in every way that scripts have",
    "large": "loads 20 files of 1 MiB each",
    "loop": "runs a script that never ends, while the page is parsed",
    "messages": "has a worker that posts messages to it without end",
    "nested": "nests 200,000 elements, which ends the renderer",
    "permissions": "asks for notifications, place, camera, clipboard, MIDI, full screen and sound",
    "popups": "opens 200 windows",
    "printing": "prints itself 100 times",
    "redirects": "replaces its address by script without end",
    "requests": "sends 10,000 requests",
    "service": "registers a service worker that answers every request",
    "shared": "has a shared worker that posts messages and writes to the console without end",
    "sockets": "opens WebSockets and sends 1 MiB on each every millisecond; each receives 8 MiB",
    "threads": "starts workers without end",
    "timers": "has a timer whose script never ends",
    "titles": "changes its title without end",
    "unload": "asks to stay when it is left, and then runs a script that never ends",
    "unsettled": "changes its text and polls without end",
    "wasm": "keeps 64 MiB more in WebAssembly, again and again",
}
#: the renderer ends at this address, which no page can open, but the driver can
RENDERER_CRASH = "chrome://crash"
#: the command of CDP by which the driver ends the GPU process
GPU_CRASH = "Browser.crashGpuProcess"
AFTER = "This page works and does no harm."
#: of RFC 6455, section 1.3
SOCKET_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
#: a WebSocket frame with 64 KiB of binary data
FRAME = b"\x82\x7f" + (1 << 16).to_bytes(8, "big") + bytes(1 << 16)


@dataclass(frozen=True)
class HostileWeb:
    """`canary` has a request only if a page has reached another loopback address."""

    site: Site
    canary: Site

    def url(self, name: str) -> str:
        return f"{self.site.url}/{name}.html"


def accept_socket(request: Request) -> Reply:
    """Accept a WebSocket and send 8 MiB."""
    key = request.headers.get("Sec-WebSocket-Key")
    if key is None:
        return 426, {"Content-Type": "text/plain"}, "a WebSocket"
    digest = hashlib.sha1(f"{key}{SOCKET_GUID}".encode()).digest()
    headers = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Accept": base64.b64encode(digest).decode(),
    }
    return 101, headers, FRAME * 128


def hostile_answers(canary: str) -> dict[str, Reply]:
    """The pages and what they load, by path; a list of them is at `/`."""
    text = {"Content-Type": "text/plain"}
    download = {"Content-Type": "application/octet-stream", "Content-Disposition": "attachment"}
    links = "".join(f'<p><a href="/{name}.html">{does}</a></p>' for name, does in HOSTILE.items())
    index = f"<!doctype html><title>Hostile pages</title>{links}"
    return files_of(FOLDER / "hostile") | {
        "/": (200, {"Content-Type": "text/html; charset=utf-8"}, index.encode()),
        "/canary.js": (200, {"Content-Type": "text/javascript"}, f"canary = '{canary}';".encode()),
        "/download": (200, download, bytes(1 << 20)),
        "/large": (200, text, bytes(1 << 20)),
        "/many": (200, text, b"one of many"),
        "/poll": (200, text, b"not yet"),
    }


@contextmanager
def hostile_web(
    *, address: str = "127.0.8.1", canary_address: str = "127.0.8.2"
) -> Iterator[HostileWeb]:
    """Serve the pages and a canary."""
    with serve_site({}, address=canary_address) as canary:
        pages = hostile_answers(canary.url) | {"/socket": accept_socket}
        with serve_site(pages, address=address) as site:
            yield HostileWeb(site, canary)
