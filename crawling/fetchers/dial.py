"""HTTP over a socket to exactly the address that was vetted.

The name stays in the Host header, in SNI and in the certificate check; no name is looked up here, so what DNS says a moment
later (rebinding) changes nothing. Redirects are not followed: whoever calls vets the next hop.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import certifi
import requests
from requests.adapters import HTTPAdapter
from requests.exceptions import InvalidURL
from requests.models import PreparedRequest
from requests.structures import CaseInsensitiveDict
from requests.utils import urldefragauth
from urllib3 import HTTPConnectionPool, PoolManager

from crawling.fetchers.egress import Way, authorization
from crawling.fetchers.pinned import PinnedPool, PinnedTlsPool

DEFAULT_PORTS = {"http": 80, "https": 443}
#: connections kept open, one site each; the least recently used is closed
MOST_SITES = 256
#: idle connections kept for one site; politeness asks for one request at a time
IDLE_PER_SITE = 2
#: a server that sends a little every few seconds, be it headers or body, must not hold a thread for ever
MAX_ANSWER_SECONDS = 60.0
READ_SECONDS = 5.0
#: nor one that sends without end what never becomes a body: answers of status 100, trailers, empty blocks of gzip
MAX_ANSWER_BYTES = 64 * 1024 * 1024


class _PinnedRequest(PreparedRequest):
    """Built for one vetted address, and for one way to it."""

    address: str
    way: Way | None

    @property
    def asks_proxy(self) -> bool:
        """Whether a proxy is told the whole URL and fetches it by itself."""
        return self.way is not None and self.way.proxy.is_trusted and (self.url or "").startswith("http:")


class _PinnedAdapter(HTTPAdapter):
    """Connections kept by scheme, name, port and address: a site that moves gets a new one."""

    def __init__(self, trust: ssl.SSLContext, **limits: float) -> None:
        self._trust, self._limits = trust, limits
        super().__init__(pool_connections=MOST_SITES, pool_maxsize=IDLE_PER_SITE)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool_kwargs: Any) -> None:
        self.poolmanager = PoolManager(num_pools=connections)
        self.poolmanager.pool_classes_by_scheme = {"http": PinnedPool, "https": PinnedTlsPool}

    def get_connection_with_tls_context(self, request: PreparedRequest, *args: Any, **kwargs: Any) -> HTTPConnectionPool:
        if not isinstance(request, _PinnedRequest):
            raise TypeError("only get_pinned() sends requests: others carry no vetted address")
        url = urlsplit(request.url or "")
        if url.scheme not in DEFAULT_PORTS or not url.hostname:
            raise InvalidURL(f"{request.url!r} is no http or https URL", request=request)
        port = url.port or DEFAULT_PORTS[url.scheme]
        key: Any = (url.scheme, url.hostname, port, request.address, request.way)
        context: dict[str, Any] = {
            "scheme": url.scheme,
            "host": url.hostname,
            "port": port,
            "maxsize": IDLE_PER_SITE,
            "ssl_context": self._trust,
        }
        context |= {"pinned_address": request.address, "way": request.way, **self._limits}
        pool: HTTPConnectionPool = self.poolmanager.connection_from_pool_key(key, context)
        return pool

    def request_url(self, request: PreparedRequest, proxies: Any) -> str:
        """What stands in the request line."""
        if isinstance(request, _PinnedRequest) and request.asks_proxy:
            return str(urldefragauth(request.url or ""))
        return request.path_url

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Leave the pool alone: its context requires certificates, and has read the authorities once for all connections."""


class PinnedSession(requests.Session):
    """A session for `get_pinned` only; shared by any number of threads. Knows neither cookies, credentials nor .netrc.

    `authorities` is a file of certificates to trust instead of certifi's; `answer_seconds` is the longest to wait for one whole
    answer, `answer_bytes` the most to read of it, headers and compression included; `read_seconds` the longest between two pieces.
    """

    def __init__(
        self,
        *,
        authorities: str | None = None,
        answer_seconds: float = MAX_ANSWER_SECONDS,
        answer_bytes: int = MAX_ANSWER_BYTES,
        read_seconds: float = READ_SECONDS,
    ) -> None:
        super().__init__()
        self.trust_env = False
        self.adapters.clear()
        trust = ssl.create_default_context(cafile=authorities or certifi.where())
        self._pinned = adapter = _PinnedAdapter(trust, answer_seconds=answer_seconds, answer_bytes=answer_bytes, read_seconds=read_seconds)
        self.mount("http://", adapter)
        self.mount("https://", adapter)

    def get_pinned(
        self,
        url: str,
        *,
        address: str,
        headers: Mapping[str, str],
        timeout: tuple[float, float] = (5.0, 5.0),
        method: str = "GET",
        body: bytes | None = None,
        way: Way | None = None,
    ) -> requests.Response:
        """Fetch a canonical http or https URL from `address`, which must be vetted; the body is left to be streamed.

        `timeout` is for connecting and for the answer to begin. `way`: through a proxy, at an address that is vetted, too. The
        headers are sent as given, Host apart. Close the response, or read it to its end, to keep the connection for the next
        request. Raises requests.RequestException when the fetch fails and ValueError if `address` is no address or the URL's port
        no port.
        """
        ip_address(address)
        # Session.prepare_request and Session.send merge settings, cookies and hooks that are all empty here, which takes longer
        # than the rest of requests together, and send() prepares the next hop of every redirect.
        request = _PinnedRequest()
        request.method, request.url, request.address, request.way, request.body = method, url, address, way, body
        request.headers = CaseInsensitiveDict(headers)
        if body is not None:
            request.headers["Content-Length"] = str(len(body))
        if way is not None and request.asks_proxy and (secret := authorization(way.proxy)):
            request.headers["Proxy-Authorization"] = secret
        return self._pinned.send(request, stream=True, timeout=timeout)
