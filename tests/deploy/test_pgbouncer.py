"""The product behind PgBouncer, which gives each transaction another session."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import requests

from crawlsite.service_addresses import DATABASE, ROLE
from tests.crawlsite.programs import PROJECT, eventually, free_port
from tests.crawlsite.supervised import Supervisor
from tests.deploy.processes import LINES
from tests.deploy.servers import Postgres, postgres, valkey

POOLER = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
#: sessions of PostgreSQL for all transactions of all processes
SESSIONS = 6
PAGES = 30
#: what PostgreSQL and psycopg say where a statement comes to another session than it needs
LOST = re.compile(r"prepared statement|cursor \S+ does not exist|don't own a lock|unnamed portal")


@contextmanager
def pooler(database: Postgres, place: Path) -> Iterator[str]:
    """The address of a PgBouncer before a server, until the block ends."""
    port = free_port()
    folder = Path(tempfile.mkdtemp(dir=place))
    (folder / "users").write_text(f'"{ROLE}" ""\n')
    (folder / "pgbouncer.ini").write_text(
        f"""[databases]
{DATABASE} = host=127.0.0.1 port={database.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
server_round_robin = 1
default_pool_size = {SESSIONS}
max_client_conn = 500
admin_users = {ROLE}
"""
    )
    for path in (folder, *folder.iterdir()):
        os.chown(path, database.account.uid, database.account.gid)
    with (place / "pgbouncer.log").open("wb") as log:
        process = subprocess.Popen(
            [POOLER, folder / "pgbouncer.ini"],
            stdout=log,
            stderr=log,
            **database.account.popen_arguments(),
        )
    url = f"postgresql://{ROLE}@127.0.0.1:{port}/{DATABASE}"
    try:
        eventually(lambda: can_connect(url))
        yield url
    finally:
        process.terminate()
        process.wait(60)


def can_connect(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.drill
@pytest.mark.timeout(1800)
@pytest.mark.skipif(POOLER is None, reason="NOT TRIED: pgbouncer is missing (apt-get install)")
def test_all_processes_work_behind_a_pooler_of_transactions(place):
    with (
        postgres(place) as database,
        valkey(place) as queue,
        pooler(database, place) as pooled,
    ):
        product = Supervisor(
            place / "state",
            (PROJECT / "Procfile").read_text(),
            DATABASE_URL=pooled,
            DATABASE_DIRECT_URL=database.url,
            REDIS_URL=queue,
            WORKERS="2",
            DEMO="true",
            DEMO_PORT=(demo := str(free_port())),
            REPLAY_PORT=str(free_port()),
        )
        try:
            product.until_it_says("^ready")
            eventually(lambda: set(readiness(product).values()) == {"ok"})
            settings = {
                "DATABASE_URL": pooled,
                "DATABASE_DIRECT_URL": database.url,
                "REDIS_URL": queue,
                "DEMO_PORT": demo,
            }
            said = product.manage(
                *("crawl", f"http://127.0.0.1:{demo}/library/", "--name", "Pooled"),
                *("--max-pages", str(PAGES), "--wait"),
                **settings,
            )
            assert said.returncode == 0, said.stdout + said.stderr
            # takes the lock of edits
            said = product.manage("crawl", "edit", "Pooled", "--max-pages", "40", **settings)
            assert said.returncode == 0, said.stdout + said.stderr
            sessions = database.ask(
                "SELECT count(*), count(DISTINCT l.pid) FROM pg_stat_activity a"
                " LEFT JOIN pg_locks l ON l.pid = a.pid AND l.locktype = 'advisory'"
                f" WHERE a.datname = '{DATABASE}' AND a.pid <> pg_backend_pid()"
            )
            pages = database.ask(
                "SELECT count(*) FROM crawling_page p JOIN crawling_run r ON r.id = p.run_id"
                " JOIN crawling_crawljob c ON c.id = r.crawl_id WHERE c.name = 'Pooled'"
            )
        finally:
            product.process.terminate()
            product.process.wait(60)

    assert pages == [(PAGES,)]
    # beside those of transactions: the leading scheduler's, the pre-resolver's, and those of a job
    # and an edit that may run at this moment
    assert sessions[0][0] <= SESSIONS + 4
    files = [*(place / "state/logs").glob("*.log"), *(place / "primary").glob("*.log")]
    logs = {path.name: path.read_text() for path in files}
    assert len(logs) > len(LINES)
    assert {name: LOST.findall(text) for name, text in logs.items() if LOST.search(text)} == {}


def readiness(product: Supervisor) -> dict[str, str]:
    return requests.get(f"http://127.0.0.1:{product.port}/readyz", timeout=30).json()
