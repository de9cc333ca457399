"""Small real proxies on loopback: SOCKS5 with a password (RFC 1928, 1929), and HTTP with CONNECT
and plain requests.
"""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass
class RunningProxy:
    """A proxy at `port`. `asked` has what it was asked to connect to, or to fetch."""

    port: int
    user: str = ""
    password: str = ""
    asked: list[str] = field(default_factory=list)

    @property
    def wanted(self) -> str:
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode()


@contextmanager
def serve_proxy(kind: str, *, user: str = "", password: str = "") -> Iterator[RunningProxy]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = RunningProxy(listener.getsockname()[1], user, password)
        serve = {"socks5": _socks, "http": _http}[kind]

        def accept() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=_guarded, args=(serve, client, proxy), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield proxy
        listener.shutdown(socket.SHUT_RDWR)


def _guarded(serve, client: socket.socket, proxy: RunningProxy) -> None:
    with client:
        try:
            serve(client, proxy)
        except OSError:  # the client closed first
            return


def _exactly(client: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = client.recv(count - len(data))
        if not piece:
            raise OSError("gone")
        data += piece
    return data


def _socks(client: socket.socket, proxy: RunningProxy) -> None:
    _, methods = _exactly(client, 2)
    offered = _exactly(client, methods)
    if proxy.user:
        if 2 not in offered:
            client.sendall(b"\x05\xff")
            return
        client.sendall(b"\x05\x02")
        _, length = _exactly(client, 2)
        user = _exactly(client, length).decode()
        password = _exactly(client, _exactly(client, 1)[0]).decode()
        is_known = (user, password) == (proxy.user, proxy.password)
        client.sendall(b"\x01\x00" if is_known else b"\x01\x01")
        if not is_known:
            return
    else:
        client.sendall(b"\x05\x00")
    _, _, _, kind = _exactly(client, 4)
    if kind == 3:
        host = _exactly(client, _exactly(client, 1)[0]).decode()
    else:
        host = socket.inet_ntop(
            socket.AF_INET if kind == 1 else socket.AF_INET6,
            _exactly(client, 4 if kind == 1 else 16),
        )
    port = int.from_bytes(_exactly(client, 2), "big")
    proxy.asked.append(f"{host}:{port}")
    try:
        server = socket.create_connection((host, port), 5)
    except OSError:
        client.sendall(b"\x05\x05\x00\x01" + bytes(6))
        return
    client.sendall(b"\x05\x00\x00\x01" + bytes(6))
    _relay(client, server)


def _http(client: socket.socket, proxy: RunningProxy) -> None:
    head = b""
    while b"\r\n\r\n" not in head:
        head += _exactly(client, 1)
    lines = head.decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ")
    proxy.asked.append(f"{method} {target}")
    if proxy.user and f"Proxy-Authorization: {proxy.wanted}" not in lines:
        client.sendall(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
        return
    if method == "CONNECT":
        host, _, port = target.rpartition(":")
        server = socket.create_connection((host, int(port)), 5)
        client.sendall(b"HTTP/1.1 200 Here you are\r\n\r\n")
    else:
        url = urlsplit(target)
        server = socket.create_connection((url.hostname, url.port or 80), 5)
        server.sendall(
            f"{method} {url.path} HTTP/1.1\r\nConnection: close\r\n".encode()
            + "\r\n".join(lines[1:]).encode("latin-1")
        )
    _relay(client, server)


def _relay(one: socket.socket, other: socket.socket) -> None:
    with other:
        back = threading.Thread(target=_pump, args=(other, one), daemon=True)
        back.start()
        _pump(one, other)
        back.join(60)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:  # the other end closed first
        return
