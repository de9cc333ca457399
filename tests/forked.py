"""Our commands as processes that start quickly: forked from a process that has already imported
their modules.

A new Python would spend two seconds of the processor on that. Each process reads its settings from
its own environment; no module stores a setting when it is imported, and none should. The processes
of the suite share the process that is forked.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path

from crawlsite.env import BASE_DIR

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.imported"])


class SharedForkServer(forkserver.ForkServer):
    """The server of this process, or that of the process that this one was forked from: it is no
    child of this one, which cannot ask whether it lives. It lives as long as one of them.
    """

    def ensure_running(self) -> None:
        with suppress(ChildProcessError):
            super().ensure_running()


def share_server() -> None:
    """Start the server for this process and for all that are forked from it."""
    forkserver._forkserver.ensure_running()


forkserver._forkserver.__class__ = SharedForkServer


class Program:
    """`manage.py` with these words, started.

    The program's output is added to the file `log`. The object can be used like a Popen.
    """

    def __init__(self, words: list[str], env: dict[str, str], log: Path) -> None:
        self._process = FORKS.Process(target=_manage, args=(words, env, log))
        self._process.start()
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, seconds: float | None = None) -> int:
        self._process.join(seconds)
        if self.poll() is None:
            raise subprocess.TimeoutExpired(str(self._process), seconds)
        return self.poll()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def _manage(words: list[str], env: dict[str, str], log: Path) -> None:
    with log.open("ab") as printed:
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(BASE_DIR)
    read_settings_anew()
    sys.argv = ["manage.py", *words]
    from manage import main

    main()


def read_settings_anew() -> None:
    """Forget the settings that the parent process has read."""
    from django.conf import empty, settings
    from django.core.cache import caches
    from django.db import connections

    importlib.reload(importlib.import_module(os.environ["DJANGO_SETTINGS_MODULE"]))
    settings._wrapped = empty
    for handler in (connections, caches):
        for alias in handler.settings:
            with suppress(AttributeError):  # the value was never read
                del handler[alias]
        handler._settings = None
        del handler.settings
