"""How soon hosts are fetched from again after a kill -9, with the lease of a minute that is the
default.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import psycopg
import pytest

from crawlsite.service_addresses import database_url
from tests.crawlsite.programs import PROJECT, environment, eventually
from tests.crawlsite.supervised import Supervisor
from tests.kill_anywhere.stage import prepare
from tests.kill_anywhere.test_kill_anywhere import short_place

__all__ = ["short_place"]

SECONDS_HERE, SECONDS_ANEW = 10, 15


@pytest.fixture
def product(short_place):
    """Everything that `make run` starts but the demo; returns a function that starts it again, and
    whose `last` is the running one.
    """
    state, started = short_place / "state", []
    prepare(state)

    def start() -> Supervisor:
        started.append(Supervisor(state, (PROJECT / "Procfile").read_text(), WORKERS="1"))
        return started[-1]

    yield start
    started[-1].process.terminate()
    started[-1].process.wait(timeout=60)


def shifts(product: Supervisor) -> int:
    with (
        suppress(psycopg.OperationalError),
        psycopg.connect(database_url(product.state_dir)) as connection,
    ):
        return connection.execute("SELECT count(*) FROM crawling_shift").fetchone()[0]
    return 0


def crawl(product: Supervisor, seed: str) -> None:
    file = product.state_dir / "orders.json"
    file.write_text(json.dumps([{"name": "web", "seeds": [seed], "delay_seconds": 0.5}]))
    env = environment(STATE_DIR=str(product.state_dir))
    subprocess.run(
        [sys.executable, "-m", "tests.kill_anywhere.starting", str(file)],
        env=env,
        check=True,
        cwd=PROJECT,
    )


def kill(pids: list[int]) -> None:
    """At once: none of them sees another die."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, number)


@pytest.mark.drill
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "victim", ["worker", "worker and work process", "supervisor", "everything"]
)
def test_hosts_are_fetched_from_again(product, make_site, victim):
    count = iter(range(10**9))
    site = make_site(
        {
            "/": lambda request: (
                200,
                {"Content-Type": "text/html"},
                "".join(f'<a href="/?{next(count)}">x</a>' for _ in range(9)),
            )
        }
    )
    running = product()
    eventually(lambda: running.says("ready;"), 200)
    crawl(running, f"{site.url}/")
    eventually(lambda: len(site.paths) > 8, 60)

    before, [worker] = shifts(running), running.workers()
    work_processes = [child.pid for child in worker.children()]
    pids = {
        "worker": [worker.pid],
        "worker and work process": [*work_processes, worker.pid],
        "supervisor": [running.process.pid],
        "everything": [*running.pids()[1:], running.process.pid],
    }[victim]
    kill(pids)
    killed_at = time.monotonic()
    if running.process.pid in pids:
        running.process.wait()
        running = product()
    eventually(lambda: shifts(running) > before, 90)
    seen = len(site.log)
    eventually(lambda: len(site.log) > seen, 90)

    seconds = site.log[seen].at - killed_at
    print(f"\n{victim}: fetched from again after {seconds:.1f} s")
    assert seconds < (SECONDS_ANEW if victim in ("supervisor", "everything") else SECONDS_HERE)
