"""The way out: straight to a vetted address, or through a proxy to exactly that address."""

from __future__ import annotations

import socket
from base64 import b64encode
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse

import socks
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError
from urllib3.util.connection import create_connection

from crawling.rules.addresses import Address
from crawling.rules.proxies import Proxy

#: a request goes out in one piece, and waits for no other
AT_ONCE: list[tuple[int, int, int | bytes]] = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
#: what a proxy says of the server behind it, not of itself: SOCKS5 (RFC 1928, section 6), and HTTP
OF_THE_SERVER = ("0x03", "0x04", "0x05", "0x06", "502", "503", "504")


class ProxyFailed(NewConnectionError):
    """The proxy could not be reached, or would not serve us."""


@dataclass(frozen=True, slots=True)
class Way:
    """A proxy, and the vetted address at which it is."""

    proxy: Proxy
    address: str


class Refused(OSError):
    """The proxy answers a CONNECT by something else than yes."""


def authorization(proxy: Proxy) -> str:
    """The value of Proxy-Authorization; empty for a proxy that asks for nothing."""
    return f"Basic {b64encode(f'{proxy.user}:{proxy.password}'.encode()).decode()}" if proxy.user else ""


def connect(site: Address, address: str, way: Way | None, timeout: float) -> socket.socket:
    """Open a socket to the site at its address. Raises urllib3's exceptions."""
    if way is None:
        try:
            return create_connection((address, site.port), timeout, socket_options=AT_ONCE)
        except TimeoutError as error:
            raise ConnectTimeoutError(f"{address} did not answer within {timeout:g} s") from error
        except OSError as error:
            raise NewConnectionError(site.origin, f"{address}: {error}") from error  # type: ignore[arg-type]
    try:
        return _through(way, (address, site.port), timeout, is_tunnel=site.scheme == "https")
    except (OSError, HTTPException) as error:  # those of PySocks, too
        kind = NewConnectionError if str(error).startswith(OF_THE_SERVER) else ProxyFailed
        raise kind(site.origin, f"the proxy {way.proxy.host}:{way.proxy.port} says: {error}") from error  # type: ignore[arg-type]


def _through(way: Way, target: tuple[str, int], timeout: float, *, is_tunnel: bool) -> socket.socket:
    """The proxy is told the address, never the name: what is vetted here can't be looked up there again."""
    proxy = way.proxy
    if proxy.scheme == "socks5":
        through: socket.socket = socks.create_connection(
            target,
            timeout,
            proxy_type=socks.SOCKS5,
            proxy_addr=way.address,
            proxy_port=proxy.port,
            proxy_username=proxy.user or None,
            proxy_password=proxy.password or None,
            socket_options=AT_ONCE,
        )
        return through
    plain = create_connection((way.address, proxy.port), timeout, socket_options=AT_ONCE)
    if proxy.is_trusted and not is_tunnel:
        return plain
    try:
        _ask_for_tunnel(plain, target, proxy)
    except BaseException:
        plain.close()
        raise
    return plain


def _ask_for_tunnel(plain: socket.socket, target: tuple[str, int], proxy: Proxy) -> None:
    host = f"[{target[0]}]:{target[1]}" if ":" in target[0] else f"{target[0]}:{target[1]}"
    secret = authorization(proxy)
    lines = [f"CONNECT {host} HTTP/1.1", f"Host: {host}", *([f"Proxy-Authorization: {secret}"] if secret else []), "", ""]
    plain.sendall("\r\n".join(lines).encode("latin-1"))
    with HTTPResponse(plain, method="CONNECT") as answer:
        answer.begin()
        if answer.status != 200:
            raise Refused(f"{answer.status} {answer.reason}")
