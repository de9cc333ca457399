"""libcurl's handles: one for each site and way, with the connection that it keeps."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from select import POLLIN, poll

import pycurl

from crawling.fetchers.egress import bracketed
from crawling.rules.addresses import Address

#: sites whose connections are kept; those of the least recently used are closed. Each handle that has spoken TLS holds 0.8 MiB of
#: certificates
MOST_SITES = 64
#: of one site; politeness asks for one request at a time
MOST_OF_A_SITE = 2


@dataclass(frozen=True, slots=True)
class Site:
    """What tells one line from another: a site that moves gets a new one. proxy: its URL with its address, or "".

    is_pinned: the address is dialled, or told to the proxy. Only a proxy that an administrator trusts gets the name instead.
    """

    origin: str
    hostname: str
    port: int
    address: str
    proxy: str
    is_pinned: bool
    authorities: str

    @classmethod
    def of(cls, site: Address, address: str, proxy: str, authorities: str, *, is_trusted: bool) -> Site:
        is_pinned = not (proxy.startswith("http:") and is_trusted and site.scheme == "http")
        return cls(site.origin, site.hostname, site.port, address, proxy, is_pinned, authorities)


class Lines:
    """Shared by any number of threads; whoever has a handle has it alone."""

    def __init__(self) -> None:
        self._idle: OrderedDict[Site, list[pycurl.Curl]] = OrderedDict()
        self._lock = threading.Lock()

    def __del__(self) -> None:
        self.clear()  # whoever leaves a session to be collected leaves no socket open

    @contextmanager
    def line(self, site: Site) -> Iterator[pycurl.Curl]:
        """A handle for one transfer. Where that fails, its connection goes with it."""
        curl = self._quiet(site) or _handle(site)
        try:
            yield curl
        except BaseException:
            curl.close()
            raise
        self._keep(site, curl)

    def _quiet(self, site: Site) -> pycurl.Curl | None:
        """An idle handle over whose connection nothing has come that nobody asked for, nor the end."""
        while True:
            with self._lock:
                idle = self._idle.get(site)
                curl = idle.pop() if idle else None
            if curl is None or is_quiet(curl):
                return curl
            curl.close()

    def _keep(self, site: Site, curl: pycurl.Curl) -> None:
        with self._lock:
            self._idle.setdefault(site, []).append(curl)
            self._idle.move_to_end(site)
            leaving = self._idle[site][:-MOST_OF_A_SITE]
            del self._idle[site][:-MOST_OF_A_SITE]
            if len(self._idle) > MOST_SITES:
                leaving += self._idle.popitem(last=False)[1]
        for each in leaving:
            each.close()

    def clear(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, OrderedDict()
        for curls in idle.values():
            for curl in curls:
                curl.close()


def is_quiet(curl: pycurl.Curl) -> bool:
    """Whether nothing has come over its connection since the last answer; true where it has none any more."""
    kept = curl.getinfo(pycurl.ACTIVESOCKET)
    if kept < 0:
        return True  # its certificates are worth keeping
    waiting = poll()
    waiting.register(kept, POLLIN)
    return not waiting.poll(0)


def bare_handle() -> pycurl.Curl:
    """A handle that knows nothing of the environment: neither its proxies nor .netrc."""
    curl = pycurl.Curl()
    curl.setopt(pycurl.NOSIGNAL, 1)
    curl.setopt(pycurl.PROXY, "")
    curl.setopt(pycurl.NOPROXY, "")
    curl.setopt(pycurl.NETRC, pycurl.NETRC_IGNORED)
    curl.setopt(pycurl.NOPROGRESS, 0)
    curl.setopt(pycurl.MAXCONNECTS, 1)
    return curl


def _handle(site: Site) -> pycurl.Curl:
    curl = bare_handle()
    curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
    curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
    curl.setopt(pycurl.URL, f"{site.origin}/")
    curl.setopt(pycurl.CAINFO, site.authorities)
    curl.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
    curl.setopt(pycurl.BUFFERSIZE, 64 * 1024)
    if site.is_pinned:
        curl.setopt(pycurl.CONNECT_TO, [f"::{bracketed(site.address)}:{site.port}"])
    if site.proxy:
        curl.setopt(pycurl.PROXY, site.proxy)
        curl.setopt(pycurl.HTTPPROXYTUNNEL, site.is_pinned)
    return curl
