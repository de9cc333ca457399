"""One line of a Procfile in place of the supervisor, as service managers and containers run it."""

import signal
import subprocess
import sys

import pytest

from crawlsite.services.stops import StartError
from crawlsite.supervisor.procfile import commands_of
from tests.crawlsite.programs import PROJECT, environment, eventually

SLEEPS = 'import os, time; print(os.getpid(), os.environ["PORT"], flush=True); time.sleep(600)'


@pytest.fixture
def procfile(tmp_path):
    path = tmp_path / "Procfile"
    path.write_text(
        "release: python -c 'print(1)' && python -c 'print(2)'\n"
        f"sleeper: python -c '{SLEEPS}' $HOST\n"
        "failing: python -c 'raise SystemExit(3)'\n"
    )
    return path


@pytest.fixture
def only(procfile, tmp_path):
    def only(name: str) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", "crawlsite.supervisor", "--procfile", procfile, "--only", name],
            cwd=PROJECT,
            env=environment(STATE_DIR=str(tmp_path / "state"), PORT="8123"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return only


def test_it_is_the_process_itself_with_the_settings_of_the_procfile(only):
    """So a signal of the service manager reaches the process, and its status the manager."""
    running = only("sleeper")

    assert running.stdout.readline().split() == [str(running.pid), "8123"]
    running.send_signal(signal.SIGTERM)
    eventually(lambda: running.poll() is not None)
    assert running.returncode == -signal.SIGTERM
    running.communicate()


def test_the_status_is_that_of_the_process(only):
    failed = only("failing")

    failed.communicate(timeout=60)
    assert failed.returncode == 3


def test_the_release_runs_all_its_commands_in_order(only):
    out, errors = only("release").communicate(timeout=60)

    assert (out.split(), errors) == (["1", "2"], "")


def test_a_line_that_is_not_there_is_named_with_those_that_are(procfile):
    with pytest.raises(StartError, match="no line 'webb', but release, sleeper, failing"):
        commands_of("webb", procfile, {"HOST": "127.0.0.1"})
