"""Starts the embedded Valkey and waits for it. The caller holds the lock of the embedded servers,
since Valkey itself does not lock its files.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import redis

from crawlsite.service_addresses import VALKEY_SOCKET, redis_url, sockets_dir
from crawlsite.services.child import Child
from crawlsite.services.postgres import last_lines
from crawlsite.services.stops import StartError

STOPS = ((signal.SIGTERM, 1.0), (signal.SIGKILL, 0.2))


def server_command(program: Path, data: Path, state_dir: Path, *, loose: bool) -> list[str | Path]:
    """The server's command line: a socket and no TCP, every write saved within a second, and no key
    ever evicted.
    """
    socket = sockets_dir(state_dir) / VALKEY_SOCKET
    words: list[str | Path] = [
        program,
        "--port",
        "0",
        "--unixsocket",
        socket,
        "--unixsocketperm",
        "700",
        "--dir",
        data,
        "--save",
        "",
    ]
    return [
        *words,
        "--appendonly",
        "no" if loose else "yes",
        "--appendfsync",
        "everysec",
        "--maxmemory-policy",
        "noeviction",
        # its own chores, twice a second instead of ten times: an idle server takes a quarter of the
        # processor time
        "--hz",
        "2",
    ]


def await_ready(server: Child, state_dir: Path, pause: Callable[[float], None]) -> None:
    """Wait until the server answers, as long as its process lives."""
    with redis.Redis.from_url(redis_url(state_dir), socket_timeout=2) as client:
        while True:
            if server.poll_end():
                raise StartError(f"Valkey ended while starting. {last_lines(server.log)}")
            try:
                client.ping()
                return
            except (redis.ConnectionError, redis.TimeoutError):
                pause(0.05)
