"""PostgreSQL and Valkey on ports of loopback, for installations that bring none: containers, a
pooler, a standby. The programs are those of the product.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import redis

from crawlsite.service_addresses import DATABASE, ROLE
from crawlsite.services.account import Account, choose_account
from crawlsite.services.binaries import find_postgres, find_valkey
from crawlsite.services.embedded_servers import FIXED_ENVIRONMENT
from crawlsite.services.postgres import prepare_data
from tests.crawlsite.programs import eventually, free_port

PROGRAMS = find_postgres()


class Postgres:
    """A server of a data directory. The directory around it has its log."""

    def __init__(self, data: Path, account: Account) -> None:
        self.data, self.account, self.port = data, account, free_port()
        self._process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"postgresql://{ROLE}@127.0.0.1:{self.port}/{DATABASE}"

    def start(self, **settings: str) -> None:
        """Start the server; it recovers before it answers."""
        options = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": "200",
            **settings,
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        with self.data.with_name(f"{self.data.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [PROGRAMS.postgres, "-D", self.data, *words],
                stdout=log,
                stderr=log,
                cwd="/",
                env=FIXED_ENVIRONMENT,
                **self.account.popen_arguments(),
            )
        eventually(self._answers)

    def _answers(self) -> bool:
        assert self._process
        assert self._process.poll() is None, self.data.with_name(
            f"{self.data.name}.log"
        ).read_text()
        try:
            self.ask("SELECT 1", database="postgres")
        except psycopg.OperationalError:
            return False
        return True

    def ask(self, statement: str, *, database: str = DATABASE) -> list[tuple]:
        """The rows of a statement, which is a transaction."""
        url = self.url.removesuffix(DATABASE) + database
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def kill(self) -> None:
        """End it as a lost machine does."""
        assert self._process
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.send_signal(2)  # fast
            self._process.wait(60)


@contextmanager
def postgres(place: Path, **settings: str) -> Iterator[Postgres]:
    """A new server with an empty database, until the block ends; `place` is a directory that all
    accounts may enter.
    """
    state = place / "primary"
    state.mkdir()
    account = choose_account(state, [PROGRAMS.postgres])
    server = Postgres(prepare_data(PROGRAMS, state, account, FIXED_ENVIRONMENT), account)
    try:
        server.start(**settings)
        server.ask(f"CREATE DATABASE {DATABASE}", database="postgres")
        yield server
    finally:
        server.stop()


@contextmanager
def valkey(place: Path) -> Iterator[str]:
    """The address of a new Valkey, until the block ends."""
    port = free_port()
    process = subprocess.Popen(
        [find_valkey(), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", place],
        stdout=subprocess.DEVNULL,
        env={**os.environ},
    )
    url = f"redis://127.0.0.1:{port}/0"
    try:
        with redis.Redis.from_url(url) as client:
            eventually(lambda: answers(client))
        yield url
    finally:
        process.terminate()
        process.wait(60)


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
