"""Our commands as processes that start quickly: forked from one that has imported what others
wrote, and nothing of ours.

A new Python would spend most of its start on that. Settings, models and all else of the project
each process reads for itself.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

from crawlsite.env import BASE_DIR

#: what needs no settings to be imported
OTHERS = [
    "ada_url", "bs4", "cronsim", "cryptography.fernet", "django.contrib.admin",
    "django.core.management.commands.migrate", "django.db.backends.postgresql.base", "dns.resolver",
    "environs", "numpy", "prometheus_client", "protego", "psutil", "publicsuffixlist", "pydantic",
    "re2", "redis", "requests", "rich.progress", "rq.worker", "structlog", "turbohtml.extract",
    "warcio.archiveiterator", "xxhash",
]  # fmt: skip
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(OTHERS)


class Program:
    """`manage.py` with these words, started.

    What it prints is added to the file `log`. To be handled like a Popen.
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
    sys.argv = ["manage.py", *words]
    from manage import main

    main()
