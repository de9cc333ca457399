"""A shift that PostgreSQL does not answer any more asks nothing of any site once its lease may be
another's.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection

from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from tests.stack import SCHEDULER, WORKER, running_stack, wait_until

LEASE_SECONDS = 6


class StallingServer:
    """A way to the tests' PostgreSQL that can be stopped: nothing comes through then, and nothing
    says so.
    """

    def __init__(self, folder: Path) -> None:
        self.open = threading.Event()
        self.open.set()
        parts = connection.settings_dict
        self._there = str(Path(parts["HOST"]) / f".s.PGSQL.{parts['PORT'] or 5432}")
        self._sockets: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / ".s.PGSQL.5432"))
        self._listener.listen(50)
        self.url = (
            f"postgresql://{parts['USER']}@/{parts['NAME']}?host={quote(str(folder), safe='')}&"
            "port=5432"
        )
        self._threads: list[threading.Thread] = []
        self._begin(self._accept)

    def _begin(self, work: Callable[..., None], *arguments: socket.socket) -> None:
        self._threads.append(threading.Thread(target=work, args=arguments))
        self._threads[-1].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, server = self._listener.accept()[0], socket.socket(socket.AF_UNIX)
                self._sockets += [client, server]
                server.connect(self._there)
                for source, target in ((client, server), (server, client)):
                    self._begin(self._pass_on, source, target)

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self.open.wait()
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.open.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in (*self._sockets, self._listener):
            one.close()


@pytest.fixture
def server(transactional_db):
    folder = Path(tempfile.mkdtemp(prefix="cs-"))
    server = StallingServer(folder)
    yield server
    server.close()
    shutil.rmtree(folder)


def test_no_request_is_made_after_the_lease_though_the_shift_waits_for_postgresql(
    server, make_site, order, tmp_path
):
    def slow(request):
        time.sleep(0.1)
        return 200, {"Content-Type": "text/html"}, "x"

    pages = {f"/{n}": slow for n in range(190)}
    site = make_site({"/": "".join(f'<a href="{path}">x</a>' for path in pages), **pages})
    start_run(create_crawl(order(f"{site.url}/", batch_size=100, address_delay_seconds=0)))

    with running_stack(tmp_path, BANK_LEASE_SECONDS=str(LEASE_SECONDS)) as stack:
        stack.start(SCHEDULER)
        stack.env["DATABASE_URL"] = server.url
        worker = stack.start(WORKER)
        wait_until(lambda: len(site.log) > 20)
        server.open.clear()
        stalled_at = time.monotonic()
        wait_until(
            lambda: time.monotonic() > stalled_at + LEASE_SECONDS + 3, seconds=LEASE_SECONDS + 9
        )
        asked = [request.at - stalled_at for request in site.log]
        os.kill(worker.pid, 9)
        server.open.set()

    assert len([at for at in asked if at > 0]) > 9  # it had enough in hand to go on for long
    assert max(asked) < LEASE_SECONDS
