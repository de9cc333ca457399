"""Protocols besides HTTP. Each has a scheme, a usual port and a fetcher."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from crawling.web.extensions import BadExtension, ExtensionPoint

#: the schemes with a robots.txt, and the only ones to which redirects and pages from the web may
#: lead. Their fetcher uses headers, cookies and proxies (`crawling.fetching.pipeline.client`)
WEB_PORTS = {"http": 80, "https": 443}
SCHEME = re.compile(r"[a-z][a-z0-9+.\-]{0,19}")
MOST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class SchemeFetcher:
    default_port: int
    #: takes a `FetchTask`, returns `Fetched`, and raises nothing because of a server
    fetch: Callable[[Any], Any]


def _fetcher_of_module(
    scheme: str, module: Any, _others: Mapping[str, SchemeFetcher]
) -> SchemeFetcher:
    """Take in a module with DEFAULT_PORT and `fetch`."""
    if not SCHEME.fullmatch(scheme) or scheme in WEB_PORTS:
        raise BadExtension("a scheme is small letters and digits, and not http or https")
    port, fetch = getattr(module, "DEFAULT_PORT", None), getattr(module, "fetch", None)
    if not (type(port) is int and 0 <= port <= MOST_PORT and callable(fetch)):
        raise BadExtension("it needs DEFAULT_PORT, a number, and fetch, a function")
    return SchemeFetcher(port, fetch)


PROTOCOLS = ExtensionPoint(
    "crawlsite.protocols",
    {"ftp": "crawling.web.fetch.ftp", "file": "crawling.web.fetch.files"},
    _fetcher_of_module,
)


def default_port(scheme: str) -> int | None:
    """The usual port of a scheme; None if there is no fetcher for it."""
    port = WEB_PORTS.get(scheme)
    if port is None and (protocol := PROTOCOLS.get(scheme)):
        return protocol.default_port
    return port
