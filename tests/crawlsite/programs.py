"""Programs that tests start and watch."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
import requests

from tests.stack import pause

PROJECT = Path(__file__).resolve().parent.parent.parent
#: the password that the first administrator chooses in tests
OWN_PASSWORD = "one of my own"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change accounts")


def choose_password(browser: requests.Session, base: str, given: str) -> None:
    """Replace the given password by OWN_PASSWORD: until then no other page opens."""
    page = browser.get(f"{base}/")
    assert page.url.startswith(f"{base}/account/password/")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[1]
    fields = {"old_password": given, "new_password1": OWN_PASSWORD, "new_password2": OWN_PASSWORD}
    answer = browser.post(
        f"{base}/account/password/", {**fields, "csrfmiddlewaretoken": token, "next": "/"}
    )
    assert answer.url == f"{base}/"


def environment(**changes: str) -> dict[str, str]:
    """The caller's environment without our variables (and those of `make test`), so that the
    embedded servers are started.
    """
    ours = {
        "DATABASE_URL",
        "REDIS_URL",
        "STATE_DIR",
        "PUBLIC_URL",
        "PORT",
        "DJANGO_SETTINGS_MODULE",
        "MAKEFLAGS",
        "MAKELEVEL",
    }
    return {**{name: value for name, value in os.environ.items() if name not in ours}, **changes}


def services(
    *words: object, env: dict[str, str] | None = None, python: str = sys.executable, **options
) -> subprocess.Popen:
    """Start `python -m crawlsite.services WORDS`."""
    return subprocess.Popen(
        [python, "-m", "crawlsite.services", *map(str, words)],
        cwd=PROJECT,
        env=env or environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(process: subprocess.Popen, seconds: float = 90) -> tuple[int, str, str]:
    """Return status, output and errors of a process that ends by itself."""
    out, errors = process.communicate(timeout=seconds)
    return process.returncode, out, errors


def eventually(what: Callable[[], object], seconds: float = 90) -> None:
    """Wait until `what` is true; too short a limit makes tests fail, too long a one costs
    nothing.
    """
    began = time.monotonic()
    while not what():
        assert time.monotonic() < began + seconds, "it never came true"
        pause(began)


def eventually_moving(
    what: Callable[[], object], moves: Callable[[], object], seconds: float
) -> None:
    """Wait until `what` is true; fail when the value of `moves` has not changed for `seconds`."""
    began = time.monotonic()
    last, until = moves(), began + seconds
    while not what():
        if (latest := moves()) != last:
            last, until = latest, time.monotonic() + seconds
        assert time.monotonic() < until, f"nothing has moved for {seconds} s: {last}"
        pause(began)


def still_running(pids: list[int]) -> list[int]:
    return [
        pid
        for pid in pids
        if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    ]


def permissions_above(path: Path) -> list[tuple[str, int, int, int]]:
    return [(str(p), p.stat().st_mode, p.stat().st_uid, p.stat().st_gid) for p in path.parents]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
