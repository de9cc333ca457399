"""Chromium: where it is, and how it is started so that it can connect nowhere."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path

from crawling.machine.browser import NONE, browser_path
from crawling.web.rendering.types import NoBrowserError

LAUNCHER = Path(__file__).with_name("launcher.py")
#: the user of Linux without rights
NOBODY = 65534

#: Each of the first four alone leaves Chromium without a way to a server: no name has an address,
#: not even that of the proxy, which is used for loopback, too, and is the only way for WebRTC.
NO_WAY_OUT = (
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://proxy.invalid:1",
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--dns-prefetch-disable",
    "--no-pings",
)
#: One process for all frames of a page, so that its memory can be measured and the page ended alone
#: (`docs/decisions/0187`): no site isolation, and no process in reserve that belongs to no page.
ONE_PROCESS_A_PAGE = (
    "--disable-site-isolation-trials",
    "--disable-gpu-process-crash-limit",
    "--renderer-process-limit=1000",
)
DISABLED_FEATURES = (
    *("IsolateOrigins", "site-per-process", "SpareRendererForSitePerProcess"),
    *("ProactivelySwapBrowsingInstance", "BackForwardCache", "RenderDocument"),
    *("PaintHolding", "Translate", "MediaRouter", "OptimizationHints", "DialMediaRouteProvider"),
    *("WebRtcHideLocalIpsWithMdns", "Prerender2"),
    *("NetworkPrediction", "FedCm", "WebBluetooth", "WebUSB", "WebOTP"),
)
#: The process for the network has nothing to do. If it died, pages would lose their requests, and
#: go on without them
NO_NETWORK_PROCESS = "NetworkServiceInProcess2"
NOTHING_TO_ASK = (
    "--deny-permission-prompts",
    "--autoplay-policy=user-gesture-required",
    "--disable-notifications",
    "--disable-gpu",
    "--no-first-run",
    "--block-new-web-contents",
)
#: Chromium would write each line of a page's console to the driver, too
QUIET = "--log-level=3"
#: Playwright's own flags that would let pages open windows, and flood the browser with messages
NOT_WANTED = ["--disable-popup-blocking", "--disable-ipc-flooding-protection"]


def chromium_path() -> Path:
    """The browser of this machine. Raises NoBrowserError with the remedy."""
    if found := browser_path():
        return found
    raise NoBrowserError(NONE)


def flags(memory_bytes: int) -> list[str]:
    """Chromium's flags. memory_bytes: the most for the objects of a page's scripts."""
    return [
        *NO_WAY_OUT,
        *ONE_PROCESS_A_PAGE,
        *NOTHING_TO_ASK,
        QUIET,
        f"--disable-features={','.join(DISABLED_FEATURES)}",
        f"--enable-features={NO_NETWORK_PROCESS}",
        f"--js-flags=--max-old-space-size={memory_bytes // 1024 // 1024}",
    ]


def write_launcher(folder: Path, name: str, executable: Path | str, user: int | None) -> Path:
    """A program that starts an executable so that it ends with its parent, as a user without
    rights if one is given. It notes its process in a file of the folder.
    """
    path = folder / name
    command = [sys.executable, "-I", "-S", str(LAUNCHER)]
    command += [str(folder / f"{name}.pids"), "" if user is None else str(user), str(executable)]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)
    return path


def noted_processes(folder: Path, name: str = "*") -> dict[int, int]:
    """The processes that a launcher of the folder has started, or all of them, with the times of
    their starts in the kernel's ticks. They may have ended.
    """
    lines = []
    for path in folder.glob(f"{name}.pids"):
        with suppress(FileNotFoundError):  # the folder is being removed
            lines += path.read_text().splitlines()
    return {int(process): int(start) for process, start in map(str.split, lines)}
