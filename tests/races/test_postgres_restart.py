"""AC8: PostgreSQL is killed under a working client.

After its return no grant is half there, and what was answered stands.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psycopg
import pytest

from crawlsite.env import BASE_DIR
from crawlsite.services.child import notes_dir
from tests.crawlsite.conftest import lay_data, make_place, place, start_pair
from tests.databases.template import lay_tables

__all__ = ["lay_data", "make_place", "place", "start_pair"]

OPEN_BANK = """
import django; django.setup()
from allocation.services import NewClass, create_pool, register_process
pool = create_pool(name="p", classes=[NewClass("a", "unit", "A unit.", 3)])
print(register_process(pool=pool.pk, label="p", run_ref="p", maximum={"a": 3}).pk)
"""
LOST = "SELECT count(*) FROM conservation WHERE difference <> 0 OR ungranted <> 0"
HALF = """SELECT count(*) FROM allocation_grant g JOIN allocation_request r ON r.id = g.request_id
          WHERE r.state <> 'granted' OR NOT EXISTS (SELECT FROM allocation_event e
              WHERE e.grant_id = g.id AND e.kind = 'granted')"""


@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.drill)])
def test_no_grant_is_half_there_after_postgresql_was_killed(place, start_pair, kills):
    pair = start_pair(place / "state", wanted=("postgres",))
    env = {**os.environ, **pair.addresses, "DJANGO_SETTINGS_MODULE": "crawlsite.settings"}

    def run(*words: str) -> str:
        return subprocess.run(
            [sys.executable, *words],
            cwd=BASE_DIR,
            env=env,
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout

    lay_tables(pair.addresses["DATABASE_URL"])
    process = run("-c", OPEN_BANK).strip()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.races.client", process],
        cwd=BASE_DIR,
        env=env,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as client:
        answered = []
        for _ in range(kills):
            answered += [int(client.stdout.readline()) for _ in range(5)]
            os.kill(
                int((notes_dir(pair.state_dir, "servers") / "postgres").read_text().split()[0]),
                signal.SIGKILL,
            )
            while not pair.revive(time.sleep):
                time.sleep(0.01)
        rest, _ = client.communicate("enough\n", timeout=60)
    answered += [int(line) for line in rest.split()]

    assert client.returncode == 0
    with psycopg.connect(pair.addresses["DATABASE_URL"]) as look:
        assert look.execute(LOST).fetchone() == look.execute(HALF).fetchone() == (0,)
        assert look.execute("SELECT available FROM allocation_pool").fetchone() == ([3],)
        granted = look.execute(
            "SELECT g.id FROM allocation_grant g JOIN allocation_request r ON r.id = request_id "
            "WHERE kind = 'start'"
        )
        assert [row[0] for row in granted.fetchall()] == answered
