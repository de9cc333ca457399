"""The running product, with its own servers or with those at hand."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psutil
from django.conf import settings
from django.db import connection

from benchmarks.timer import process_tree, seconds_of, total_by
from crawlsite.env import BASE_DIR, child_environment

PORT = 8790
TITLE_LENGTH = 66
#: kinds of programs, by a text in their command lines
KINDS = {
    "postgres": "PostgreSQL",
    "valkey": "Redis",
    "shifts": "worker",
    "background": "background",
    "idle": "idle",
    "imports": "importer",
    "gunicorn": "web",
    "manage.py scheduler": "scheduler",
    "resolve_ahead": "preresolver",
    "spawn_main": "crawled web",
    "supervisor": "supervisor",
    "benchmarks.": "clients",
}
SCHEDULER = ("scheduler", "--skip-checks")
WORKER_CLASS = "crawling.fetching.worker.rq_worker.ShiftWorker"
WORKER = (
    *("rqworker", "--skip-checks", "shifts", "--worker-class", WORKER_CLASS),
    *("--serializer", "json", "--worker-ttl", "60"),
)


def environment_in(state: str, **others: str) -> dict[str, str]:
    """The environment of a product with its own servers, and its files in this folder."""
    return environment_at_hand(STATE_DIR=state, DATABASE_URL="", REDIS_URL="", **others)


def environment_at_hand(**others: str) -> dict[str, str]:
    """The environment of a product that uses the servers of this process."""
    return child_environment({"PORT": str(PORT), "DEMO": "false", "LOG_LEVEL": "WARNING", **others})


class Product:
    """A running product. Its programs are recognised by the names that they have before they work,
    since a worker has another name after it forks.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._kinds = {each.pid: kind_of(each) for each in process_tree(pid)}

    def totals(
        self, of: Callable[[psutil.Process], float] = seconds_of, *, within: int = 0
    ) -> Counter[str]:
        """Processor seconds (or another figure) so far, by kinds of programs. within: the process
        among whose descendants they are sought; by default the product's.
        """
        return total_by(self._kind, process_tree(within or self.pid), of)

    def _kind(self, process: psutil.Process) -> str:
        known = (
            self._kinds[one.pid] for one in (process, *process.parents()) if one.pid in self._kinds
        )
        return next(known, "") or kind_of(process)


def title_of(process: psutil.Process) -> str:
    words = process.cmdline() or [process.name()]
    return " ".join([Path(words[0]).name, *words[1:]])[:TITLE_LENGTH].strip()


def kind_of(process: psutil.Process) -> str:
    words = " ".join(process.cmdline())
    return next((kind for sign, kind in KINDS.items() if sign in words), "others")


@contextmanager
def running_product(environment: dict[str, str]) -> Iterator[Product]:
    """Run the supervisor, with everything that it starts, until the block ends."""
    command = [sys.executable, "-m", "crawlsite.supervisor"]
    with subprocess.Popen(  # noqa: S603  # ours
        command, env=environment, stdout=subprocess.PIPE, text=True, cwd=BASE_DIR
    ) as product:
        try:
            assert product.stdout
            next(line for line in product.stdout if "ready" in line)
            yield Product(product.pid)
        finally:
            product.terminate()
            product.communicate(timeout=30)


@contextmanager
def program(*words: str, **others: str) -> Iterator[psutil.Process]:
    """Run a command of the product until the block ends. It uses the database at hand and has a
    separate session, as under the supervisor.
    """
    url = urlsplit(settings.ENVIRONMENT.database_url)
    here = urlunsplit(url._replace(path=f"/{connection.settings_dict['NAME']}"))
    environment = child_environment({"DATABASE_URL": here, "LOG_LEVEL": "WARNING", **others})
    command = [sys.executable, "manage.py", *words]
    with subprocess.Popen(  # noqa: S603  # ours
        command, env=environment, stdout=subprocess.DEVNULL, start_new_session=True, cwd=BASE_DIR
    ) as process:
        try:
            yield psutil.Process(process.pid)
        finally:
            process.terminate()
