"""A supervisor that a test starts."""

import contextlib
import re
import subprocess
import sys
from pathlib import Path

import psutil

from tests.crawlsite.programs import PROJECT, environment, eventually, free_port


class Supervisor:
    """One run of the supervisor on a state directory, with its output in a file."""

    def __init__(self, state_dir: Path, procfile: str, **changes: str) -> None:
        state_dir.mkdir(exist_ok=True)
        (state_dir / "Procfile").write_text(procfile)
        self.port = int(changes.get("PORT", free_port()))
        self.state_dir = state_dir
        self.out = state_dir / f"out.{self.port}"
        settings = {
            "STATE_DIR": str(state_dir),
            "DEMO": "false",
            "WORKERS": "1",
            **changes,
            "PORT": str(self.port),
        }
        with self.out.open("w") as out:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "crawlsite.supervisor",
                    "--procfile",
                    state_dir / "Procfile",
                ],
                cwd=PROJECT,
                env=environment(**settings),
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )

    def lines(self) -> list[str]:
        return self.out.read_text().splitlines()

    def says(self, pattern: str) -> bool:
        return any(re.search(pattern, line) for line in self.lines())

    def until_it_says(self, pattern: str) -> None:
        eventually(lambda: self.says(pattern) or self.process.poll() is not None, 200)
        assert self.says(pattern), self.lines()

    def pids(self) -> list[int]:
        return [
            self.process.pid,
            *(child.pid for child in psutil.Process(self.process.pid).children(recursive=True)),
        ]

    def workers(self) -> list[psutil.Process]:
        """The worker processes, from the supervisor's notes."""
        found = []
        for note in (self.state_dir / "pids/stack").glob("worker*"):
            # a process that was just killed has ended
            with contextlib.suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(int(note.read_text().split()[0])))
        return found

    def manage(self, *words: str, **changes: str) -> subprocess.CompletedProcess:
        env = environment(STATE_DIR=str(self.state_dir), **changes)
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=PROJECT,
            env=env,
            capture_output=True,
            text=True,
            timeout=90,
        )
