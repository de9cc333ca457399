"""A child that is forked: it ends, prints and is stopped as one that was started from its file."""

import fcntl
import os
import signal
import sys
import time

import psutil
import pytest

from crawlsite.services.child import start_child
from crawlsite.services.stops import StopSignals
from tests.crawlsite.programs import eventually, still_running

STOPS = [(signal.SIGTERM, 5), (signal.SIGKILL, 1)]


@pytest.fixture
def fork(tmp_path):
    children = []

    def fork(work):
        child = start_child(
            ["never", "started"],
            name="forked",
            state_dir=tmp_path,
            group="stack",
            env={},
            cwd=tmp_path,
            stops=STOPS,
            work=work,
        )
        children.append(child)
        return child

    yield fork
    for child in children:
        child.signal_all(signal.SIGKILL)
        eventually(child.poll_end)


def sleep():
    time.sleep(600)


def fail():
    raise ValueError("what the log has")


def refuse():
    sys.exit("no such thing")


@pytest.mark.parametrize(
    ("work", "status", "told"),
    [
        (lambda: print("done"), 0, "done"),
        (lambda: sys.exit(3), 3, ""),
        (refuse, 1, "no such thing"),
        (fail, 1, "ValueError: what the log has"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), -signal.SIGKILL, ""),
    ],
)
def test_it_ends_with_its_status_and_prints_to_its_log(fork, capfd, work, status, told):
    child = fork(work)

    eventually(child.poll_end)

    assert child.process.returncode == status
    assert told in child.log.read_text()
    assert capfd.readouterr() == ("", "")


def test_a_stop_that_comes_at_once_ends_it_though_its_parent_only_remembers_signals(fork):
    with StopSignals() as signals:
        for _ in range(15):
            child = fork(sleep)
            child.signal_all(signal.SIGTERM)
            eventually(child.poll_end)
            assert child.process.returncode == -signal.SIGTERM

    assert signals.received == []


def test_a_lock_of_its_parent_is_free_when_the_parent_lets_go(fork, tmp_path):
    """Or the next start would find the product running that has ended."""
    held = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    fork(sleep)
    os.close(held)

    again = os.open(tmp_path / "lock", os.O_RDWR)
    fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(again)


def test_it_works_where_it_is_told_to_and_reads_nothing(fork, tmp_path):
    child = fork(lambda: print(os.getcwd(), repr(sys.stdin.read()), os.getsid(0) == os.getpid()))

    eventually(child.poll_end)

    assert child.log.read_text() == f"{tmp_path} '' True\n"


def test_what_it_starts_itself_ends_with_it(fork):
    def start_another():
        if os.fork() == 0:
            time.sleep(600)
        print("started", flush=True)
        time.sleep(600)

    child = fork(start_another)
    eventually(lambda: "started" in child.log.read_text())
    pids = [child.pid, *(one.pid for one in psutil.Process(child.pid).children())]
    assert len(pids) == 2

    child.signal_all(signal.SIGTERM)

    eventually(child.poll_end)
    eventually(lambda: still_running(pids) == [])
