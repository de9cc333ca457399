"""Real S3 servers on loopback, and a relay before them that drops, slows and refuses."""

from __future__ import annotations

import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import botocore.session
from botocore.config import Config

BUCKET = "crawls"
KEYS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
}
PIECE = 65536


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def serve_bucket(kind: str, folder: Path) -> Iterator[int]:
    """An S3 server with an empty bucket: `moto`, or `rclone`, which checks signatures. Yield its
    port.
    """
    port, programs = free_port(), Path(sys.executable).parent
    (folder / BUCKET).mkdir(parents=True)
    command = {
        "moto": [programs / "moto_server", "-H", "127.0.0.1", "-p", str(port)],
        "rclone": [
            *(programs / "rclone", "serve", "s3", folder, "--addr", f"127.0.0.1:{port}"),
            *("--auth-key", "key,secret", "--vfs-cache-mode", "off", "--config", "/dev/null"),
        ],
    }[kind]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _await_port(port, process)
        if kind == "moto":
            client(port).create_bucket(Bucket=BUCKET)
        yield port
    finally:
        process.kill()
        process.wait()


def _await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, "the server has ended"
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.05)  # the program does not tell when it listens
    raise AssertionError("the server does not listen")


def client(port: int):
    session = botocore.session.get_session()
    return session.create_client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        region_name=KEYS["AWS_DEFAULT_REGION"],
        config=Config(s3={"addressing_style": "path"}),
    )


def answer(status: int, code: str) -> bytes:
    """An error of an S3 server."""
    body = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
    head = f"HTTP/1.1 {status} No\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


@dataclass
class Relay:
    """Passes connections on to a server. `faults` are used up, one for each new connection."""

    target: int
    port: int = 0
    #: bytes: answered instead of the server; a number: the bytes of the answer until it is cut off;
    #: None: the answer is lost although the server gets the request
    faults: list[bytes | int | None] = field(default_factory=list)
    #: used for each connection
    always: bytes | None = None
    bytes_a_second: float = float("inf")

    def serve(self, listener: socket.socket) -> None:
        with suppress(OSError):  # closed at the end
            while True:
                caller, _ = listener.accept()
                threading.Thread(target=self._pass_on, args=(caller,), daemon=True).start()

    def _pass_on(self, caller: socket.socket) -> None:
        fault = self.always or (self.faults.pop(0) if self.faults else float("inf"))
        with caller, suppress(OSError):
            if isinstance(fault, bytes):
                _read_request(caller)
                caller.sendall(fault)
                return
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                self._copy(caller, server, 0 if fault is None else fault)

    def _copy(self, caller: socket.socket, server: socket.socket, left: float) -> None:
        with selectors.DefaultSelector() as either:
            either.register(caller, selectors.EVENT_READ, server)
            either.register(server, selectors.EVENT_READ, caller)
            while True:
                for key, _ in either.select():
                    data = key.fileobj.recv(PIECE)
                    if not data:
                        return
                    if key.fileobj is server:
                        data = data[: int(min(left, len(data)))]
                        left -= len(data)
                    key.data.sendall(data)
                    if left <= 0:
                        return
                    time.sleep(len(data) / self.bytes_a_second)


def _read_request(caller: socket.socket) -> None:
    """Read a request as far as it comes, so that its sender reads the answer."""
    caller.settimeout(0.2)
    with suppress(TimeoutError):
        while caller.recv(PIECE):
            pass


@contextmanager
def relay_to(target: int) -> Iterator[Relay]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        relay = Relay(target, listener.getsockname()[1])
        thread = threading.Thread(target=relay.serve, args=(listener,), daemon=True)
        thread.start()
        yield relay
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def use_server(monkeypatch, port: int) -> None:
    """Let this process and its children use the server."""
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}.items():
        monkeypatch.setenv(name, value)
    forget_clients()


def forget_clients() -> None:
    from crawling.base.bucket import _client

    _client.cache_clear()
