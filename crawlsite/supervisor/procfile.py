"""Reads the Procfile: which processes the product consists of, and what prepares them
(`release`)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from crawlsite.env import Environment
from crawlsite.services.stops import StartError
from crawlsite.supervisor.listen_addresses import bind_host

RELEASE = "release"


@dataclass(frozen=True)
class Processes:
    """The Procfile, read."""

    #: the commands to run once, in order
    release: list[list[str]]
    #: the words of each process, by its name
    commands: dict[str, list[str]]


def variables(environment: Environment, *, platform: str) -> dict[str, str]:
    """Return the settings that Procfile lines use, with their defaults filled in."""
    return {
        "HOST": bind_host(environment.host),
        "PORT": str(environment.port),
        "WEB_PROCESSES": str(environment.web_processes),
        "WEB_THREADS": str(environment.web_threads),
        "DEMO_PORT": str(environment.demo_port),
        # On macOS a fork without exec clashes with the Objective-C runtime.
        "BACKGROUND_WORKER_CLASS": "rq.worker.SpawnWorker"
        if platform == "darwin"
        else "rq.worker.Worker",
    }


def read_procfile(path: Path, environment: Environment, values: Mapping[str, str]) -> Processes:
    """Return the processes to run: `worker` WORKERS times, `demo` only with DEMO, `preresolver`
    unless DNS_AHEAD is off, everything else once.

    Raises StartError if a line uses a variable that `values` lacks.
    """
    lines = [
        line.split(":", 1)
        for line in path.read_text().splitlines()
        if ":" in line and not line.startswith("#")
    ]
    try:
        commands = {kind.strip(): Template(command).substitute(values) for kind, command in lines}
    except KeyError as error:
        raise StartError(f"{path}: there is no setting {error}") from error
    release = [
        shlex.split(command) for command in commands.pop(RELEASE, "").split("&&") if command.strip()
    ]
    counts = {
        "worker": environment.workers,
        "demo": int(environment.demo),
        "preresolver": int(environment.dns_ahead != "off"),
    }
    return Processes(
        release=release,
        commands={
            kind if count == 1 else f"{kind}.{number}": shlex.split(command)
            for kind, command in commands.items()
            for count in [counts.get(kind, 1)]
            for number in range(1, count + 1)
        },
    )
