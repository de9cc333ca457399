"""A product on several hosts: servers and scheduler on one, workers on the others."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from crawlsite.service_addresses import DATABASE, ROLE, VALKEY_SOCKET, sockets_dir
from tests.crawlsite.programs import environment, eventually
from tests.hosts.network import PREFIX, Host, joined_hosts
from tests.hosts.web import Request, read_log
from tests.kill_anywhere.stage import Stage, prepare
from tests.stack import SCHEDULER, WORKER

#: short, so that little is waited for; stalls and cuts take longer
LEASE_SECONDS = 10
SETTINGS = {"BANK_LEASE_SECONDS": str(LEASE_SECONDS), "BANK_PICKUP_SECONDS": "10"}
PROCFILE = "scheduler: python manage.py scheduler --skip-checks\n"
DATABASE_HOST, WEB_HOST = f"{PREFIX}.0.1", f"{PREFIX}.0.2"
WORKER_HOSTS = {name: f"{PREFIX}.0.{number}" for number, name in enumerate("abc", 11)}
ALLOW = (
    "INSERT INTO crawling_allowednetwork (network, port_from, port_to, note) "
    f"VALUES ('{PREFIX}.0.0/16', 80, 80, '') RETURNING id"
)


class Cluster:
    """The hosts, what runs on them, and the relay between workers and servers."""

    def __init__(self, stage: Stage, hosts: Mapping[str, Host], sites: Sequence[str]) -> None:
        self.stage, self.hosts, self.sites = stage, hosts, sites
        self.processes: list[subprocess.Popen] = []
        self._relay: subprocess.Popen | None = None

    @property
    def web_log(self) -> Path:
        return self.stage.place / "web.jsonl"

    def requests(self) -> list[Request]:
        return read_log(self.web_log)

    def start_servers(self, pages: int) -> None:
        """The web, and the relay that gives the other hosts PostgreSQL and Redis."""
        web = ["-m", "tests.hosts.web", str(pages), str(self.web_log)]
        self._start("web", web, "web")
        sockets = sockets_dir(self.stage.place)
        joins = [f"5432={sockets}/.s.PGSQL.5432", f"6379={sockets / VALKEY_SOCKET}"]
        relay = ["-m", "tests.hosts.relay", DATABASE_HOST, *joins]
        self._relay = self._start("database", relay, "relay", stdin=subprocess.PIPE, text=True)
        eventually(lambda: "ready" in (self.stage.place / "relay.log").read_text())

    def relay(self, name: str, *order: object) -> None:
        """Do something to the connections of a worker host; see `tests.hosts.relay`."""
        print(WORKER_HOSTS[name], *order, file=self._relay.stdin, flush=True)

    def start_worker(self, name: str) -> None:
        """A worker, which a supervisor starts again whenever it ends."""
        self._supervise(name, "worker", WORKER)

    def start_scheduler(self, name: str) -> None:
        self._supervise(name, "scheduler", SCHEDULER)

    def _supervise(self, name: str, role: str, words: Sequence[str]) -> None:
        own = self.stage.place / f"{role}-{name}"
        own.mkdir()
        (own / "Procfile").write_text(f"{role}: python manage.py {' '.join(words)}\n")
        supervisor = ["-m", "crawlsite.supervisor", "--procfile", str(own / "Procfile")]
        self._start(name, supervisor, f"{role}-{name}", self._environment(own))

    def log_of(self, role: str, name: str) -> str:
        """The output of a process so far."""
        log = self.stage.place / f"{role}-{name}" / "logs" / f"{role}.log"
        return log.read_text() if log.exists() else ""

    def _environment(self, own: Path) -> dict[str, str]:
        """Two addresses, the secret key, and a directory of its own."""
        return environment(
            DATABASE_URL=f"postgresql://{ROLE}@{DATABASE_HOST}:5432/{DATABASE}",
            REDIS_URL=f"redis://{DATABASE_HOST}:6379/0",
            SECRET_KEY=(self.stage.place / "secret_key").read_text().strip(),
            STATE_DIR=str(own),
            ARCHIVE_DIR=str(own / "archive"),
            WORKERS="1",
            DEMO="false",
            **SETTINGS,
        )

    def _start(
        self,
        host: str,
        words: Sequence[str],
        log: str,
        env: dict[str, str] | None = None,
        **options,
    ) -> subprocess.Popen:
        process = self.hosts[host].start(words, self.stage.place / f"{log}.log", env, **options)
        self.processes.append(process)
        return process

    def stop(self) -> None:
        """End the newest first: workers need the servers to say goodbye."""
        for host in self.hosts.values():
            host.set_link("up")
        for process in reversed(self.processes):
            process.terminate()
            process.wait(60)


@contextmanager
def running_cluster(place: Path, sites: int, pages: int) -> Iterator[Cluster]:
    """Yield the servers, the scheduler and the web at work, on hosts of their own; workers start
    when the test asks.
    """
    addresses = [f"{PREFIX}.10.{number}" for number in range(1, sites + 1)]
    wanted = {"database": [DATABASE_HOST], "web": [WEB_HOST, *addresses]}
    with joined_hosts(wanted | {name: [of] for name, of in WORKER_HOSTS.items()}) as hosts:
        prepare(place)
        stage = Stage(place, PROCFILE, SETTINGS)
        try:
            eventually(lambda: stage.hears("SELECT 1"))
            stage.ask(ALLOW)
            cluster = Cluster(stage, hosts, addresses)
            try:
                cluster.start_servers(pages)
                yield cluster
            finally:
                cluster.stop()
        finally:
            stage.close()
            stage.product.process.terminate()
            stage.product.process.wait(60)
