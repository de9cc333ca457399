"""Kills, crashes, foreign processes and odd places: the servers start again, keep their data and
harm no other process.
"""

import re
import shlex
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from crawlsite.service_addresses import sockets_dir
from crawlsite.services import account
from crawlsite.services import embedded_servers as pair
from crawlsite.services.account import Account, choose_account
from crawlsite.services.binaries import DEBIAN_POSTGRESQL, find_postgres
from crawlsite.services.child import notes_dir, start_child, stop_left_over
from crawlsite.services.stops import StartError
from crawlsite.services.watchdog import start_watchdog
from tests.crawlsite.programs import (
    PROJECT,
    environment,
    eventually,
    finish,
    needs_root,
    permissions_above,
    services,
    still_running,
)

WRITE = """
import os, psycopg, redis
with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
redis.Redis.from_url(os.environ["REDIS_URL"]).set("kept", "42")
"""
READ = """
import os, psycopg, redis
with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    print(connection.execute("SELECT answer FROM kept").fetchone()[0])
print(redis.Redis.from_url(os.environ["REDIS_URL"]).get("kept").decode())
"""


def server_pids(state_dir: Path) -> list[int]:
    return [int(note.read_text().split()[0]) for note in notes_dir(state_dir, "servers").iterdir()]


def read_kept(state_dir: Path) -> list[str]:
    status, out, errors = finish(
        services("--state-dir", state_dir, "exec", sys.executable, "-c", READ)
    )
    assert status == 0, errors
    return out.split()


@pytest.fixture
def make_stranger():
    """Starts a process that is none of ours."""
    started = []

    def make(**options) -> subprocess.Popen:
        started.append(subprocess.Popen(["sleep", "600"], **options))
        return started[-1]

    yield make
    for process in started:
        process.kill()
        process.wait()


def test_kill_of_the_starter_ends_the_servers_and_loses_nothing(laid):
    """Rules 2 and 5: nothing lives on, no pipe stays open, and the next start finds the data."""
    script = (
        f"{shlex.quote(sys.executable)} -c '{WRITE}' && cat {laid}/pids/servers/* > "
        f"{laid}/pids/before && kill -9 $PPID; exec sleep 600"
    )
    status, _, _ = finish(services("--state-dir", laid, "exec", "sh", "-c", script))
    pids = [int(line.split()[0]) for line in (laid / "pids/before").read_text().splitlines()]

    assert status == -signal.SIGKILL
    assert len(pids) == 2
    eventually(lambda: not still_running(pids))
    assert read_kept(laid) == ["42", "42"]


def test_clean_stop_keeps_the_data_and_leaves_only_files(laid):
    """Rule 11: Valkey ends first, PostgreSQL last."""
    assert finish(services("--state-dir", laid, "exec", sys.executable, "-c", WRITE))[0] == 0

    assert not (laid / "urls.env").exists()
    assert list(notes_dir(laid, "servers").iterdir()) == []
    valkey_ended = re.search(
        r"(\d\d:\d\d:\d\d\.\d+) # Valkey is now ready to exit",
        (laid / "logs/valkey.log").read_text(),
    )[1]
    postgres_told = re.search(
        r"(\d\d:\d\d:\d\d\.\d+) UTC .*received fast shutdown request",
        (laid / "logs/postgres.log").read_text(),
    )[1]
    assert valkey_ended <= postgres_told
    assert read_kept(laid) == ["42", "42"]


def test_killed_servers_come_back_with_their_data(place, start_pair):
    """Rule 10 and the supervisor's promise: kill -9 of either server costs nothing that was
    acknowledged.
    """
    running = start_pair(place)
    with psycopg.connect(running.addresses["DATABASE_URL"]) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    client = redis.Redis.from_url(running.addresses["REDIS_URL"])
    client.set("kept", "42")
    client.execute_command("WAITAOF", 1, 0, 5000)

    for pid in server_pids(place):
        psutil.Process(pid).kill()
    eventually(lambda: not still_running(server_pids(place)))
    revived = []
    eventually(lambda: revived.extend(revive(running)) or sorted(revived) == ["postgres", "valkey"])

    assert client.get("kept") == b"42"
    with psycopg.connect(running.addresses["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)


def revive(running) -> list[str]:
    """One try, as the supervisor's loop makes: PostgreSQL may have to wait until the killed
    server's children are gone.
    """
    try:
        return running.revive(lambda seconds: None)
    except StartError:
        return []


def test_stale_pid_file_that_names_a_stranger_harms_nobody(place, start_pair, make_stranger):
    """Rule 9: normal after a container restarted, when numbers are used again.

    PostgreSQL minds its own account's processes.
    """
    start_pair(place, wanted=("postgres",)).stop()
    stranger = make_stranger(user=(place / "pg18").stat().st_uid)
    (place / "pg18/postmaster.pid").write_text(
        f"{stranger.pid}\n{place}/pg18\n1732147055\n5432\n{place}/run\n\n  1 2\nready\n"
    )
    notes_dir(place, "servers").mkdir(exist_ok=True)
    (notes_dir(place, "servers") / "postgres").write_text(f"{stranger.pid} 1732147055.0 2\n")

    start_pair(place, wanted=("postgres",)).stop()

    assert stranger.poll() is None


def test_only_a_process_of_the_noted_age_is_signalled(place, make_stranger):
    """Rule 9."""
    stranger = make_stranger()
    notes = notes_dir(place, "servers")
    ours = start_child(
        ["sleep", "600"],
        name="ours",
        state_dir=place,
        group="servers",
        env={},
        cwd=place,
        stops=[(signal.SIGTERM, 5)],
    )
    (notes / "stranger").write_text(
        f"{stranger.pid} {psutil.Process(stranger.pid).create_time() - 5} 15\n"
    )

    assert stop_left_over(notes)
    eventually(ours.poll_end)

    assert stranger.poll() is None
    assert not stop_left_over(notes)


def test_watchdog_stops_the_servers_of_a_parent_that_is_gone(place):
    """Rule 5 on macOS, where the kernel tells children nothing; run here on any system."""
    server = start_child(
        ["sleep", "600"],
        name="server",
        state_dir=place,
        group="servers",
        env={},
        cwd=place,
        stops=[(signal.SIGTERM, 5)],
    )
    watchdog = start_watchdog(notes_dir(place, "servers"))

    assert server.process.poll() is None
    watchdog.communicate(timeout=60)  # closes its pipe, as the end of the parent would

    assert server.process.wait(timeout=60) == -signal.SIGTERM


def test_half_made_data_directory_is_made_again(place, start_pair):
    """A killed initdb leaves a directory that looks complete."""
    starter = services("--state-dir", place, "exec", "true")
    eventually(lambda: list(place.glob("pg18*/PG_VERSION")))
    for child in psutil.Process(starter.pid).children():
        child.kill()
    finish(starter)

    running = start_pair(place, bare=True, wanted=("postgres",))

    with psycopg.connect(running.addresses["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_files_that_a_killed_server_left_empty_harm_nobody(place, start_pair):
    start_pair(place, bare=True, wanted=("postgres",)).stop()
    (place / "pg18/postmaster.pid").write_text("")
    (place / "pg18.new").mkdir()
    (place / "pg18.new/PG_VERSION").write_text("")

    running = start_pair(place, bare=True, wanted=("postgres",))

    with psycopg.connect(running.addresses["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_data_of_another_major_version_is_refused_with_the_way_over(place, start_pair):
    """Rule 8."""
    (place / "pg17").mkdir()
    (place / "pg17/PG_VERSION").write_text("17\n")

    with pytest.raises(
        StartError,
        match=r"written by PostgreSQL 17, and the server at hand is 18.*pg_dump .*crawlsite > "
        r"crawlsite.sql",
    ):
        start_pair(place, bare=True)

    assert not (place / "pg18").exists()


@needs_root
def test_root_hands_the_servers_to_an_account_without_power(place, start_pair):
    """Rule 6 (a), and no permission outside the directory is touched."""
    before = permissions_above(place / "state")
    start_pair(place / "state", bare=True)

    pids = server_pids(place / "state")
    assert {capabilities(pid) for pid in pids} == {0}
    if others_may_enter(Path(sys.executable).parent):  # and else they are root's, mapped to nobody
        assert {psutil.Process(pid).username() for pid in pids} <= {"postgres", "nobody"}
    assert permissions_above(place / "state") == before


def capabilities(pid: int) -> int:
    """The capabilities of the process that an ordinary user does not have."""
    return int(re.search(r"CapEff:\t(\w+)", Path(f"/proc/{pid}/status").read_text())[1], 16)


def others_may_enter(directory: Path) -> bool:
    """Whether the project, with the servers' programs, is not in a place for root alone, as root's
    home is.
    """
    return all(path.stat().st_mode & stat.S_IXOTH for path in (directory, *directory.parents))


@needs_root
def test_root_serves_a_directory_that_only_root_can_enter(make_place, start_pair):
    """Rule 6 (b): a user namespace instead of a loosened permission."""
    place = make_place(0o700)
    before = permissions_above(place / "state")
    start_pair(place / "state", bare=True)

    assert {
        Path(f"/proc/{pid}/uid_map").read_text().split()[0] for pid in server_pids(place / "state")
    } == {"65534"}
    assert permissions_above(place / "state") == before


@needs_root
def test_root_without_any_way_down_is_told_where_to_go(make_place, monkeypatch):
    """Rule 6 in a container that forbids user namespaces."""
    monkeypatch.setattr(account, "CLONE_NEWUSER", 1)  # a flag that every kernel refuses

    with pytest.raises(StartError, match="/var/lib/crawlsite"):
        choose_account(make_place(0o700) / "state", [Path("/bin/sh")])


@needs_root
def test_state_directory_that_moved_into_a_private_place_still_serves(make_place, start_pair):
    """Rule 6: what belonged to postgres is handed over, and the other way."""
    first, second = make_place(), make_place(0o700)
    start_pair(first / "state", wanted=("postgres",)).stop()
    (first / "state").rename(second / "state")

    start_pair(second / "state", wanted=("postgres",)).stop()
    (second / "state").rename(first / "state")
    start_pair(first / "state", wanted=("postgres",))


def as_ordinary_user(place: Path) -> dict:
    """How to start a Python as `nobody`; where that account can run none, as ours in a user
    namespace without capabilities.
    """
    # redis asks for it below Python 3.11.3
    (place / "async_timeout.py").write_text("from asyncio import timeout\n")
    paths = [
        str(PROJECT),
        *(path for path in sys.path if path.endswith("site-packages")),
        str(place),
    ]
    env = environment(PYTHONPATH=":".join(paths), HOME="/nonexistent")
    nobody = {"env": env, "user": "nobody", "group": "nogroup", "extra_groups": []}
    packages = "import psycopg, psutil, redis, environs"
    for python in ("/usr/bin/python3", "/usr/local/bin/python3"):
        if (
            Path(python).exists()
            and subprocess.run(
                [python, "-c", packages], cwd="/", capture_output=True, **nobody
            ).returncode
            == 0
        ):
            return {"python": python, **nobody}
    return {"env": env, "preexec_fn": Account(0, 0, mapped=True).before_exec}


@needs_root
def test_ordinary_user_needs_nothing_else(place):
    """Rule 6: the servers run as the account that starts them."""
    place.chmod(0o777)
    who = (
        "grep Uid /proc/self/status; grep Uid /proc/$(cut -d' ' -f1 "
        "$STATE_DIR/pids/servers/postgres)/status; id -u"
    )
    status, out, errors = finish(
        services("--state-dir", place / "state", "exec", "sh", "-c", who, **as_ordinary_user(place))
    )

    assert status == 0, errors
    assert set(out.split()) == {"Uid:", "65534"}


@needs_root
def test_shared_memory_of_64_kib_is_enough(place):
    """Rule 7: some containers give /dev/shm no more."""
    script = 'mount -t tmpfs -o size=64k none /dev/shm && exec "$@"'
    words = [
        "sh",
        "-c",
        script,
        "sh",
        sys.executable,
        "-m",
        "crawlsite.services",
        "--state-dir",
        str(place),
        "exec",
        "true",
    ]
    process = subprocess.run(
        ["unshare", "--mount", *words],
        cwd=PROJECT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=30,
    )
    if "permission denied" in process.stderr.lower() or "not permitted" in process.stderr:
        pytest.skip("no mount namespaces here")

    assert process.returncode == 0, process.stderr
    assert "dynamic_shared_memory_type = mmap" in (place / "pg18/postgresql.conf").read_text()


def test_locale_that_was_never_generated_disturbs_nothing(place):
    """Section 1.2's most common failure: a LANG that SSH brought along."""
    strange = environment(
        LANG="en_US.UTF-8", LC_ALL="xx_YY.UTF-8", PGPORT="6543", PGDATA="/nowhere"
    )

    assert (
        finish(services("--state-dir", place, "exec", sys.executable, "-c", WRITE, env=strange))[0]
        == 0
    )


def test_path_too_long_for_a_socket_and_full_of_signs_serves(make_place, start_pair):
    """Rule 4: a socket's path has room for 107 bytes."""
    state_dir = make_place() / "ünï 'quoted' and% spaced" / ("long" * 30)
    running = start_pair(state_dir)

    assert sockets_dir(state_dir).parent == Path("/tmp")
    assert sockets_dir(state_dir).stat().st_mode & 0o777 == 0o700
    with psycopg.connect(running.addresses["DATABASE_URL"]) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert redis.Redis.from_url(running.addresses["REDIS_URL"]).ping()
    sockets_dir(state_dir).chmod(0o755)
    running.stop()

    with pytest.raises(StartError, match="is not a private directory"):
        start_pair(state_dir)
    for left_over in sockets_dir(state_dir).iterdir():
        left_over.unlink()
    sockets_dir(state_dir).rmdir()


@pytest.mark.skipif(
    not list(DEBIAN_POSTGRESQL.glob("*/bin/postgres")),
    reason="Debian's PostgreSQL is not installed",
)
def test_debians_servers_serve_where_the_wheels_cannot(place, start_pair, monkeypatch):
    """Rule 14 and the fallback: PostgreSQL 15 knows no builtin locale provider."""
    monkeypatch.setattr(pair, "find_postgres", lambda: find_postgres(wheel="no_such_wheel"))

    running = start_pair(place, bare=True, wanted=("postgres",))

    with psycopg.connect(running.addresses["DATABASE_URL"]) as connection:
        assert connection.execute(
            "SELECT pg_encoding_to_char(encoding) FROM pg_database"
        ).fetchone() == ("UTF8",)
    assert not (place / "pg18").exists() or find_postgres(wheel="no_such_wheel").major == 18
