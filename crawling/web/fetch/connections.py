"""The handles of libcurl: one for each site and route, with its kept connection.

A route leads straight to a vetted address, or through a proxy to exactly that address.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from select import POLLIN, poll
from typing import NamedTuple
from urllib.parse import urlsplit

import pycurl

from crawling.machine.eviction import forget_oldest
from crawling.web.addresses import bracketed_host
from crawling.web.fetch import transfer
from crawling.web.fetch.transfer import BUFFER_BYTES

#: the number of sites whose connections are kept; connections of the least recently used sites are
#: closed. Each handle that has spoken TLS holds 0.8 MiB of certificates
MOST_SITES = 64


class ConnectionSite(NamedTuple):
    """The key of a connection. A site that moves gets a new key."""

    origin: str
    address: str
    port: int
    #: the proxy's URL with its address; empty without a proxy
    proxy: str
    #: whether the address is dialled, or sent to the proxy; only a proxy that an administrator
    #: trusts gets the name instead
    is_pinned: bool

    @property
    def dialled(self) -> tuple[str, int]:
        """The address and port to which the socket connects: the server's vetted address, or the
        proxy's.
        """
        if not self.proxy:
            return self.address, self.port
        proxy = urlsplit(self.proxy)
        return str(ip_address(proxy.hostname or "")), proxy.port or 0


class ConnectionPool:
    """Handles for any number of threads. Each handle has one user at a time.

    One idle handle of a site is kept, since politeness allows one request at a time. authorities: a
    file of certificates to trust.
    """

    def __init__(self, authorities: str) -> None:
        self._authorities = authorities
        self._idle: dict[ConnectionSite, pycurl.Curl] = {}
        self._lock = threading.Lock()

    @contextmanager
    def line(self, site: ConnectionSite) -> Iterator[pycurl.Curl]:
        """A handle for one transfer. If the transfer fails, its connection is closed.

        Any other handle closes its connection when it is garbage-collected.
        """
        with self._lock:
            curl = self._idle.pop(site, None)
        if curl is None or not is_connection_quiet(curl):
            curl = _handle_for_site(site, self._authorities)
        try:
            yield curl
        except BaseException:
            curl.close()
            raise
        with self._lock:
            self._idle[site] = curl
            forget_oldest(self._idle, MOST_SITES)

    def clear(self) -> None:
        with self._lock:
            self._idle.clear()


def is_connection_quiet(curl: pycurl.Curl) -> bool:
    """Whether nothing, not even a close, was received over the handle's connection since the last
    answer.

    True if the handle no longer has a connection, since its certificates are worth keeping.
    """
    kept = curl.getinfo(pycurl.ACTIVESOCKET)
    waiting = poll()
    if kept >= 0:
        waiting.register(kept, POLLIN)
    return not waiting.poll(0)


def new_handle() -> pycurl.Curl:
    """A handle that ignores proxies of the environment, and .netrc, which libcurl reads by
    default.
    """
    curl = pycurl.Curl()
    curl.setopt(pycurl.NOSIGNAL, 1)
    curl.setopt(pycurl.PROXY, "")
    curl.setopt(pycurl.NOPROXY, "")
    curl.setopt(pycurl.NOPROGRESS, 0)
    curl.setopt(pycurl.MAXCONNECTS, 1)
    return curl


def _handle_for_site(site: ConnectionSite, authorities: str) -> pycurl.Curl:
    curl = new_handle()
    curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
    curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
    curl.setopt(pycurl.URL, f"{site.origin}/")
    curl.setopt(pycurl.CAINFO, authorities)
    curl.setopt(pycurl.OPT_CERTINFO, 1)
    curl.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
    curl.setopt(pycurl.BUFFERSIZE, BUFFER_BYTES)
    # some servers send this coding without a request for it (RFC 9112, section 7)
    curl.setopt(pycurl.TRANSFER_ENCODING, 1)
    # otherwise an answer could not be distinguished from bytes that came before its request
    curl.setopt(pycurl.FORBID_REUSE, transfer.TCP_INFO is None)
    if site.is_pinned:
        curl.setopt(pycurl.CONNECT_TO, [f"::{bracketed_host(site.address)}:{site.port}"])
    if site.proxy:
        curl.setopt(pycurl.PROXY, site.proxy)
        curl.setopt(pycurl.HTTPPROXYTUNNEL, site.is_pinned)
    return curl
