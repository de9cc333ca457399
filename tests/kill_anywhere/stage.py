"""The product with servers of its own, whose processes are killed, and the checks of its ended
crawls.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random

import psutil
import psycopg

from crawlsite.service_addresses import database_url
from crawlsite.services.embedded_servers import EmbeddedServers
from tests.crawlsite.programs import PROJECT, environment, eventually, eventually_moving
from tests.crawlsite.supervised import Supervisor
from tests.databases.template import lay_tables

PROCFILE = """
worker: python manage.py rqworker --skip-checks shifts \
 --worker-class crawling.fetching.worker.rq_worker.ShiftWorker --serializer json --worker-ttl 60
scheduler: python manage.py scheduler --skip-checks
"""
#: short enough that tests do not wait long for a lost shift; with less, a busy machine loses shifts
#: by itself, and pages count as failed
SETTINGS = {"WORKERS": "2", "BANK_LEASE_SECONDS": "5", "BANK_PICKUP_SECONDS": "5"}
ALLOW = (
    "INSERT INTO crawling_allowednetwork (network, port_from, port_to, note) "
    "VALUES ('127.0.0.0/8', 1024, 65535, '')"
)
#: values that change while a crawl makes progress
MOVES = (
    "SELECT count(*), count(*) FILTER (WHERE state IN ('s', 'f')), (SELECT count(*) "
    "FROM crawling_shift) FROM crawling_url"
)
ENDED = ("finished", "stopped", "failed")
#: the processes that may be killed; the second way of killing PostgreSQL ends all its sessions, the
#: first the server itself
VICTIMS = ("work process", "worker and work process", "postgres", "session", "valkey", "scheduler")


def prepare(place: Path) -> None:
    """Make the servers' data, the tables and a pool."""
    pair = EmbeddedServers(place, loose=True)
    try:
        pair.start()
        env = environment(STATE_DIR=str(place), DEMO="false", WORKERS="2")
        lay_tables(database_url(place))
        subprocess.run(
            [sys.executable, "manage.py", "set_up", "--skip-checks"],
            cwd=PROJECT,
            env=env,
            check=True,
            capture_output=True,
        )
        with psycopg.connect(database_url(place), autocommit=True) as connection:
            connection.execute(ALLOW)
    finally:
        pair.stop()


class Stage:
    """One running product.

    Questions about its database are put to PostgreSQL itself, not to the code that wrote the rows.
    """

    def __init__(
        self, place: Path, procfile: str = PROCFILE, settings: Mapping[str, str] = SETTINGS
    ) -> None:
        self.place, self.settings = place, settings
        self.product = Supervisor(place, procfile, **settings)
        self._connection: psycopg.Connection | None = None

    def ask(self, sql: str, *values: object) -> list[tuple]:
        """Ask on a connection that is kept: a new one costs the server more than the question."""
        if self._connection is None:
            self._connection = psycopg.connect(
                database_url(self.place), autocommit=True, connect_timeout=2
            )
        return self._connection.execute(sql, values).fetchall()

    def hears(self, sql: str, *values: object) -> list[tuple]:
        """Ask like `ask`, but a server that may just be down."""
        try:
            return self.ask(sql, *values)
        except psycopg.OperationalError:
            self.close()
            return []

    def close(self) -> None:
        """Close the connection: a question after this opens another."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def manage(self, *words: str) -> str:
        env = environment(STATE_DIR=str(self.place), **self.settings)
        done = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=PROJECT,
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def crawl(self, orders: Mapping[str, dict[str, object]]) -> None:
        """Start crawls, given as name and fields of the order."""
        file = self.place / "orders.json"
        file.write_text(
            json.dumps(
                [
                    {"name": name, "delay_seconds": 0, "batch_size": 20, **fields}
                    for name, fields in orders.items()
                ]
            )
        )
        words = [sys.executable, "-m", "tests.kill_anywhere.starting", str(file)]
        env = environment(STATE_DIR=str(self.place), **self.settings)
        subprocess.run(words, env=env, check=True, cwd=PROJECT)

    def await_workers(self) -> None:
        logs = [self.place / "logs" / f"worker.{number}.log" for number in (1, 2)]
        eventually(
            lambda: all(log.exists() and "Listening on" in log.read_text() for log in logs), 150
        )

    def await_end(self, seconds: float = 150) -> None:
        """Wait until every run has ended, has left the pool and has closed its files.

        Fails when nothing has changed for this long, however slow the machine is.
        """
        open_ends = """SELECT count(*) FILTER (WHERE state <> ALL(%s)),
                                  (SELECT count(*) FROM allocation_process WHERE state = 'active'),
                              (SELECT count(*) FROM crawling_archivefile WHERE sealed_at IS NULL)
                       FROM crawling_run"""
        eventually_moving(
            lambda: self.hears(open_ends, list(ENDED)) == [(0, 0, 0)],
            lambda: self.hears(MOVES),
            seconds,
        )

    def _children(self) -> list[psutil.Process]:
        return psutil.Process(self.product.process.pid).children()

    def _named(self, word: str) -> list[psutil.Process]:
        return [child for child in self._children() if _is_named(word, child)]

    def kill(self, victim: str, chance: Random) -> bool:
        """Send SIGKILL; return whether there was a process of this kind to kill."""
        for process in self._victims(victim, chance):
            with_it = [process]
            if victim == "worker and work process":
                with_it = [*_children_of(process), process]
                for one in with_it:
                    os.kill(one.pid, signal.SIGSTOP)  # so that neither sees the other end
            for one in with_it:
                os.kill(one.pid, signal.SIGKILL)
            return True
        return False

    def _victims(self, victim: str, chance: Random) -> list[psutil.Process]:
        if victim in ("work process", "worker and work process"):
            workers = [worker for worker in self._named("rq:worker") if _children_of(worker)]
            found = (
                workers
                if victim != "work process"
                else [work_process for worker in workers for work_process in _children_of(worker)]
            )
        elif victim == "session":
            found = [
                one
                for server in self._named("bin/postgres")
                for one in _children_of(server)
                if _is_named("idle", one)
            ]
        else:
            found = self._named(
                {
                    "postgres": "bin/postgres",
                    "valkey": "valkey",
                    "scheduler": "manage.py scheduler",
                }[victim]
            )
        chance.shuffle(found)
        return found


def _children_of(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.Error:
        return []


def _is_named(word: str, process: psutil.Process) -> bool:
    try:
        return word in " ".join(process.cmdline())
    except psutil.Error:  # the process has just ended
        return False


@contextmanager
def staged(prepared: Path, place: Path) -> Iterator[Stage]:
    """Run the product on a copy of the prepared directory, until the block ends."""
    shutil.copytree(
        prepared,
        place,
        symlinks=True,
        ignore=shutil.ignore_patterns("*.lock", "pids", "run", "urls.env"),
    )
    if os.geteuid() == 0:
        for name in ("pg*", "valkey"):
            for found in prepared.glob(name):
                owner = found.stat()
                for path in [place / found.name, *(place / found.name).rglob("*")]:
                    os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
    stage = Stage(place)
    try:
        stage.await_workers()
        yield stage
    finally:
        stage.close()
        stage.product.process.terminate()
        stage.product.process.wait(timeout=60)
