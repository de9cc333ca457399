"""Features that only Linux has are taken away, and servers and processes are kept all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from crawlsite.services import account, child, postgres
from crawlsite.services.stops import StartError

STARTS = """
import signal, sys, time
from pathlib import Path
from types import SimpleNamespace
from crawlsite.services import child
from crawlsite.services.watchdog import start_watchdog
child._libc = SimpleNamespace()
assert not child.kernel_signals_orphans()
place = Path(sys.argv[1])
watchdog = start_watchdog(child.notes_dir(place, "servers"))
server = child.start_child(
    ["sleep", "600"], name="server", state_dir=place, group="servers", env={}, cwd=place,
    stops=[(signal.SIGTERM, 5)],
)
print(server.pid, flush=True)
time.sleep(60)
"""


def test_without_a_signal_of_the_kernel_the_watchdog_stops_what_a_killed_parent_left(tmp_path):
    parent = subprocess.Popen(
        [sys.executable, "-c", STARTS, tmp_path], stdout=subprocess.PIPE, text=True
    )
    server = psutil.Process(int(parent.stdout.readline()))

    parent.send_signal(signal.SIGKILL)
    parent.communicate(timeout=60)

    psutil.wait_procs([server], timeout=60)
    assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE


def test_without_user_namespaces_root_is_told_what_to_do(monkeypatch, tmp_path):
    def nobody(name):
        raise KeyError(name)

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(account.pwd, "getpwnam", nobody)
    monkeypatch.setattr(account, "_libc", SimpleNamespace())

    with pytest.raises(StartError, match="Start crawlsite as an ordinary user"):
        account.choose_account(tmp_path, [tmp_path / "postgres"])


def test_without_shared_memory_in_files_postgresql_chooses_its_own(monkeypatch):
    def missing(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "statvfs", missing)

    assert postgres._shared_memory("--set") == []


def test_the_kernel_of_this_system_signals_orphans():
    assert child.kernel_signals_orphans() == (sys.platform == "linux")
