"""A running pair of embedded servers keeps rules that one look can check."""

import os
import stat
import subprocess
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from crawlsite.service_addresses import sockets_dir
from crawlsite.services import postgres
from crawlsite.services.binaries import find_postgres
from crawlsite.services.child import notes_dir
from crawlsite.services.embedded_servers import EmbeddedServers
from crawlsite.services.postgres import usable_bytes
from crawlsite.services.stops import StartError


@pytest.fixture(scope="module")
def connection(running):
    with psycopg.connect(running.addresses["DATABASE_URL"]) as connection:
        yield connection


@pytest.fixture(scope="module")
def client(running):
    with redis.Redis.from_url(running.addresses["REDIS_URL"]) as client:
        yield client


@pytest.fixture(params=["postgres", "valkey"])
def server(request, running) -> psutil.Process:
    return psutil.Process(
        int((notes_dir(running.state_dir, "servers") / request.param).read_text().split()[0])
    )


def test_second_start_in_the_same_directory_starts_nothing_and_names_the_first(running):
    """Rule 1: Valkey does not lock its files, so the lock file does."""
    rival = EmbeddedServers(running.state_dir)

    with pytest.raises(StartError, match=f"in use by process {os.getpid()}"):
        rival.start()
    rival.stop()

    assert (
        len(
            [
                p
                for p in psutil.process_iter(["cmdline"])
                if str(running.state_dir) in str(p.info["cmdline"])
            ]
        )
        == 2
    )


def test_lock_is_held_by_the_servers_themselves(running, server):
    """Rule 1: a killed starter's servers still keep a rival out until they have ended."""
    held = [os.path.realpath(link) for link in Path(f"/proc/{server.pid}/fd").iterdir()]

    assert str(running.state_dir / "servers.lock") in held


def test_servers_inherit_nothing_from_the_terminal(running, server):
    """Rule 2: own session, nothing to read, output into a log, no directory of the caller's."""
    streams = [os.path.realpath(f"/proc/{server.pid}/fd/{number}") for number in range(3)]
    logs = str(running.state_dir / "logs")

    assert os.getsid(server.pid) == server.pid
    assert streams[0] == "/dev/null"
    assert {os.path.dirname(path) for path in streams[1:]} == {logs}
    assert server.cwd() in ("/", str(running.state_dir / "pg18"), str(running.state_dir / "valkey"))


def test_text_sorts_and_folds_alike_on_every_system(connection):
    """Rule 3."""
    found = connection.execute(
        "SELECT datlocprovider, datlocale, pg_encoding_to_char(encoding) FROM pg_database "
        "WHERE datname = 'crawlsite'"
    )

    assert found.fetchone() == ("b", "C.UTF-8", "UTF8")
    assert connection.execute("SELECT lower('ÄÖ')").fetchone() == ("äö",)


def test_servers_listen_on_sockets_in_a_private_directory_and_on_no_port(running, server):
    """Rule 4."""
    sockets = sockets_dir(running.state_dir)

    assert [
        found for found in server.net_connections("inet") if found.status == psutil.CONN_LISTEN
    ] == []
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert stat.S_IMODE((sockets / "valkey.sock").stat().st_mode) == 0o700


def test_data_lies_under_its_major_version(running):
    """Rule 8."""
    assert (running.state_dir / "pg18/PG_VERSION").read_text().strip() == "18"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("appendonly", "yes"),
        ("appendfsync", "everysec"),
        ("maxmemory-policy", "noeviction"),
        ("unixsocketperm", "700"),
    ],
)
def test_queue_is_kept_on_disk_and_never_evicted(client, name, value):
    """Rule 10."""
    assert client.config_get(name) == {name: value}


def test_addresses_stand_in_a_private_file_while_the_pair_runs(running):
    """Rule 11."""
    urls = running.state_dir / "urls.env"

    assert stat.S_IMODE(urls.stat().st_mode) == 0o600
    told = subprocess.run(
        ["sh", "-c", f'. {urls}; printf "%s\n" "$DATABASE_URL" "$REDIS_URL"'],
        capture_output=True,
        text=True,
    )
    assert told.stdout.splitlines() == [
        running.addresses["DATABASE_URL"],
        running.addresses["REDIS_URL"],
    ]


def test_data_survives_a_power_cut(connection):
    assert connection.execute(
        "SELECT current_setting('fsync'), current_setting('full_page_writes')"
    ).fetchone() == ("on", "on")


def test_there_is_room_for_many_connections(connection):
    assert connection.execute(
        "SELECT current_setting('max_connections')::int >= 200"
    ).fetchone() == (True,)


def test_postgresql_has_a_twelfth_of_the_memory_for_what_is_at_hand(connection):
    buffers, log = connection.execute(
        "SELECT pg_size_bytes(current_setting('shared_buffers')),"
        " pg_size_bytes(current_setting('max_wal_size'))"
    ).fetchone()

    mebibytes = usable_bytes() // 2**20
    assert buffers == 2**20 * min(4096, max(128, mebibytes // 12))
    assert log == 2 * 2**30


@pytest.mark.parametrize(("mebibytes", "buffers"), [(512, 128), (24_576, 2048), (65_536, 4096)])
def test_small_and_large_machines_keep_to_bounds(monkeypatch, mebibytes, buffers):
    monkeypatch.setattr(postgres, "usable_bytes", lambda: mebibytes * 2**20)

    words = postgres.server_command(find_postgres(), Path("data"), Path("state"), loose=False)

    assert f"shared_buffers={buffers}MB" in words
