"""Proxies through which a crawl may fetch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from urllib.parse import quote, unquote, urlsplit

from crawling.web.addresses import bracketed_host

#: scheme -> the default port
PORTS = {"socks5": 1080, "http": 3128}


class BadProxy(ValueError):
    """The text names no proxy; the message says why."""


@dataclass(frozen=True, slots=True)
class Proxy:
    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    #: whether an administrator lets the proxy fetch plain HTTP for us, by names that it looks up
    #: itself. Any other proxy gets the vetted address, and only passes bytes on
    is_trusted: bool = False

    @property
    def url(self) -> str:
        secret = (
            f"{quote(self.user, safe='')}:{quote(self.password, safe='')}@" if self.user else ""
        )
        return f"{self.scheme}://{secret}{bracketed_host(self.host)}:{self.port}"


@dataclass(frozen=True, slots=True)
class ProxyRoute:
    """A proxy and its vetted address."""

    proxy: Proxy
    address: str

    @property
    def url(self) -> str:
        """The proxy's URL for requests and libcurl, with its address, so that no name is looked
        up.
        """
        return replace(self.proxy, host=self.address).url


def read_proxy(text: str) -> Proxy:
    """Read `socks5://user:password@host:port` or `http://…`.

    Raises BadProxy; its message holds no secret.
    """
    try:
        parts = urlsplit(text.strip())
        host, port = parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)
    except ValueError as error:
        raise BadProxy("is no URL of a proxy; write socks5://user:password@host:port") from error
    if parts.scheme not in PORTS or not host:
        raise BadProxy("must be like socks5://user:password@host:port or http://host:port")
    if parts.path not in ("", "/") or parts.query or parts.fragment:
        raise BadProxy("is more than a proxy's address: leave out what follows the port")
    return Proxy(
        parts.scheme, host, port, unquote(parts.username or ""), unquote(parts.password or "")
    )
