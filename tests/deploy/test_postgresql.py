"""PostgreSQL with a standby and an archive of its log: failover while a crawl runs, and the way
back to a point in time.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.crawlsite.programs import PROJECT, eventually, free_port
from tests.crawlsite.supervised import Supervisor
from tests.deploy.servers import PROGRAMS, Postgres, postgres, valkey

PAGES = 60
CRAWL = "Rehearsed"
COUNT = (
    "SELECT count(*), count(DISTINCT p.url_id) FROM crawling_page p"
    " JOIN crawling_run r ON r.id = p.run_id JOIN crawling_crawljob c ON c.id = r.crawl_id"
    f" WHERE c.name = '{CRAWL}'"
)
STATE = (
    "SELECT r.state FROM crawling_run r JOIN crawling_crawljob c ON c.id = r.crawl_id"
    f" WHERE c.name = '{CRAWL}'"
)


def base_backup(server: Postgres, data: Path, *words: str) -> Postgres:
    """A copy of a running server's data, not started yet."""
    data.parent.mkdir()
    shutil.chown(data.parent, server.account.uid, server.account.gid)
    subprocess.run(
        [
            *(PROGRAMS.directory / "pg_basebackup", "--dbname", server.url, "--pgdata", data),
            *("--checkpoint=fast", *words),
        ],
        check=True,
        cwd="/",
        **server.account.popen_arguments(),
    )
    return Postgres(data, server.account)


@pytest.fixture
def logs(place: Path) -> dict[str, str]:
    """The settings by which a server keeps its log for a way back."""
    kept = place / "wal"
    kept.mkdir(mode=0o777)
    kept.chmod(0o777)
    return {
        "archive_mode": "on",
        "archive_command": f"test ! -f {kept}/%f && cp %p {kept}/%f",
        "restore_command": f"cp {kept}/%f %p",
    }


@pytest.mark.drill
@pytest.mark.timeout(1800)
def test_a_crawl_outlives_its_database_server_and_can_be_had_as_of_any_moment(place, logs):
    with postgres(place, **logs) as first, valkey(place) as queue:
        standby = base_backup(first, place / "standby/data", "--write-recovery-conf")
        standby.start(**logs)
        try:
            rehearse(place, queue, first, standby, logs)
        finally:
            standby.stop()


def rehearse(
    place: Path, queue: str, first: Postgres, standby: Postgres, logs: dict[str, str]
) -> None:
    # no commit counts before the standby has it
    first.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
    first.ask("SELECT pg_reload_conf()")
    both = (
        f"postgresql://app@127.0.0.1:{first.port},127.0.0.1:{standby.port}/crawlsite"
        "?target_session_attrs=read-write"
    )
    settings = {
        "DATABASE_URL": both,
        "REDIS_URL": queue,
        "DEMO": "true",
        "DEMO_PORT": str(free_port()),
        "BANK_LEASE_SECONDS": "10",
        "LOG_LEVEL": "WARNING",
    }
    product = Supervisor(
        place / "state",
        (PROJECT / "Procfile").read_text(),
        REPLAY_PORT=str(free_port()),
        **settings,
    )
    try:
        product.until_it_says("^ready")
        for name in ("Demo: the library", "Demo: the shop"):  # they have the bandwidth
            assert product.manage("crawl", "abort", name, **settings).returncode == 0
        said = product.manage(
            *("crawl", f"http://127.0.0.1:{settings['DEMO_PORT']}/library/", "--name", CRAWL),
            *("--delay", "0.2", "--max-pages", str(PAGES)),
            **settings,
        )
        assert said.returncode == 0, said.stdout + said.stderr
        base = base_backup(first, place / "base/data")
        eventually(lambda: first.ask(COUNT)[0][0] >= PAGES // 4)

        first.kill()
        standby.ask("SELECT pg_promote()")
        eventually(lambda: standby.ask(STATE) == [("finished",)], 240)
    finally:
        product.process.terminate()
        product.process.wait(60)

    assert standby.ask(COUNT) == [(PAGES, PAGES)]
    assert checks(product, settings) == {"archive": 0, "check_safety": 0, "audit_allocation": 0}
    [(moment,)] = standby.ask("SELECT clock_timestamp()::text")
    standby.ask("TRUNCATE crawling_page CASCADE")  # the accident
    standby.ask("SELECT pg_switch_wal()")

    (base.data / "recovery.signal").touch()
    shutil.chown(base.data / "recovery.signal", base.account.uid, base.account.gid)
    target = {"recovery_target_time": moment, "recovery_target_action": "promote"}
    base.start(**{**logs, "archive_mode": "off", **target})
    try:
        eventually(lambda: base.ask("SELECT pg_is_in_recovery()") == [(False,)])
        assert base.ask(COUNT) == [(PAGES, PAGES)]
        at_that_moment = {**settings, "DATABASE_URL": base.url}
        assert set(checks(product, at_that_moment).values()) == {0}
    finally:
        base.stop()


def checks(product: Supervisor, settings: dict[str, str]) -> dict[str, int]:
    """The statuses of the commands that compare rows with files and with each other."""
    commands = (["archive", "check", CRAWL], ["check_safety"], ["audit_allocation"])
    return {words[0]: product.manage(*words, **settings).returncode for words in commands}
