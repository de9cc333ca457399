"""The server of the replay, beside the site."""

from __future__ import annotations

import shlex
import subprocess
from string import Template

import pytest
from django.conf import settings as project

from crawlsite.env import BASE_DIR
from tests.crawlsite.programs import free_port
from tests.stack import running_stack, wait_until


@pytest.fixture
def replay_port(settings, tmp_path, transactional_db):
    """Of the server of the replay, started as the Procfile says."""
    assert (project.REPLAY_DIR / "sw.js").is_file(), "`make drill` installs ReplayWeb.page"
    settings.REPLAY_PORT = free_port()
    line = (BASE_DIR / "Procfile").read_text().partition("\nreplay: ")[2].partition("\n")[0]
    words = {"HOST": "127.0.0.1", "REPLAY_PORT": str(settings.REPLAY_PORT), "WEB_THREADS": "4"}
    command, log = shlex.split(Template(line).substitute(words)), tmp_path / "replay.log"
    with running_stack(tmp_path) as stack, log.open("wb") as printed:
        # gunicorn stands beside the interpreter, which is not always first in PATH
        command = [str(BASE_DIR / ".venv/bin" / command[0]), *command[1:]]
        with subprocess.Popen(
            command,
            cwd=BASE_DIR,
            env={**stack.env, "REPLAY_PORT": words["REPLAY_PORT"]},
            stdout=printed,
            stderr=printed,
        ) as server:
            wait_until(lambda: b"Listening at" in log.read_bytes())
            yield settings.REPLAY_PORT
            server.terminate()
    assert server.returncode == 0
