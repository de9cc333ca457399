"""Our commands as processes that start quickly: forked from one that has imported what they import.

A new Python would spend two seconds of the processor on that. Settings each process reads for
itself, from its own environment; no module keeps one of them as it is imported, and none is to.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from crawlsite.env import BASE_DIR

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.imported"])


class Program:
    """`manage.py` with these words, started.

    The program's output is added to the file `log`. To be handled like a Popen.
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
    """Forget what the process that this one was forked from has read."""
    from django.conf import empty, settings
    from django.core.cache import caches
    from django.db import connections

    importlib.reload(importlib.import_module(os.environ["DJANGO_SETTINGS_MODULE"]))
    settings._wrapped = empty
    for handler in (connections, caches):
        for alias in handler.settings:
            with suppress(AttributeError):  # nothing has asked for it
                del handler[alias]
        handler._settings = None
        del handler.settings
