"""The processes of the product, and the commands that prepare them (`release`), as the Procfile
states them. Also the addresses on which the product listens: their spelling, and whether they are
free.
"""

from __future__ import annotations

import re
import shlex
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from crawlsite.env import DEFAULT_PORT, Environment
from crawlsite.replay.player import PLAYER
from crawlsite.services.stops import StartError

WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - recognised, not bound
RELEASE = "release"
#: in the note of the supervisor's lock
NOTED_URL = re.compile(r"at (\S+) \(process ")


def bind_host(host: str) -> str:
    """The host as an address has it before a port: IPv6 addresses stand in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def local_address(environment: Environment) -> str:
    """The address at which this machine reaches the web server."""
    host = environment.host.strip("[]")
    return f"http://{bind_host(WILDCARDS.get(host, host))}:{environment.port}"


def dashboard_url(environment: Environment) -> str:
    """The address that operators type into a browser."""
    return f"{environment.public_url or local_address(environment)}/"


def found_dashboard_url(environment: Environment) -> str:
    """The address of the dashboard. Without PUBLIC_URL and another PORT than the default, it is
    that of the product that runs with this state directory, or ran last.
    """
    noted = environment.state_dir / "supervisor.lock"
    is_usual = environment.port == DEFAULT_PORT and not environment.public_url
    if not (is_usual and noted.exists()):
        return dashboard_url(environment)
    found = NOTED_URL.search(noted.read_text())
    return found[1] if found else dashboard_url(environment)


def check_free(environment: Environment) -> None:
    """Raise StartError, naming the variable to change, unless all our addresses can be bound."""
    if environment.demo and environment.demo_port == environment.port:
        raise StartError(
            f"PORT and DEMO_PORT are both {environment.port}: give one of them another value"
        )
    _check_port(environment.host.strip("[]"), environment.port, "PORT")
    if PLAYER.is_installed(environment.state_dir):
        if environment.replay_port in (environment.port, environment.demo_port):
            raise StartError(
                f"REPLAY_PORT {environment.replay_port} is another server's: give it another value"
            )
        _check_port(environment.host.strip("[]"), environment.replay_port, "REPLAY_PORT")
    if environment.demo:
        _check_port("127.0.0.1", environment.demo_port, "DEMO_PORT")


def has_replay_port(environment: Environment) -> bool:
    """Whether the server of the replay can run. It runs without ReplayWeb.page, too, which may be
    installed later. Without it, an occupied port does not prevent the start of the product.
    """
    if PLAYER.is_installed(environment.state_dir):
        return True
    try:
        _check_port(environment.host.strip("[]"), environment.replay_port, "REPLAY_PORT")
    except StartError:
        return False
    return environment.replay_port not in (environment.port, environment.demo_port)


def _check_port(host: str, port: int, variable: str) -> None:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise StartError(f"HOST: {host!r} is not an address of this machine ({error})") from error
    with socket.socket(family, kind) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except PermissionError as error:
            raise StartError(
                f"{variable}: this user may not listen on port {port}; choose one above 1023, "
                f"like `make run {variable}=8001`"
            ) from error
        except OSError as error:
            raise StartError(
                f"{variable}: port {port} on {host} cannot be used ({error.strerror}). If "
                "another program has it, `ss -ltnp` shows which; "
                f"or choose another port, like `make run {variable}={port + 1}`"
            ) from error


@dataclass(frozen=True)
class Processes:
    #: the commands to run once, in order
    release: list[list[str]]
    #: the words of each process, by its name
    commands: dict[str, list[str]]


def variables(environment: Environment, *, platform: str) -> dict[str, str]:
    """Return the values of the variables that Procfile lines use, with defaults for those that are
    unset.
    """
    return {
        "HOST": bind_host(environment.host),
        "PORT": str(environment.port),
        "WEB_PROCESSES": str(environment.web_processes),
        "WEB_THREADS": str(environment.web_threads),
        "DEMO_PORT": str(environment.demo_port),
        "REPLAY_PORT": str(environment.replay_port),
        # On macOS a fork without exec clashes with the Objective-C runtime.
        "BACKGROUND_WORKER_CLASS": "crawling.fetching.worker.background_worker."
        + ("BackgroundSpawnWorker" if platform == "darwin" else "BackgroundWorker"),
    }


def read_procfile(path: Path, environment: Environment, values: Mapping[str, str]) -> Processes:
    """Return the processes to run: `worker` WORKERS times, `demo` only with DEMO, `preresolver`
    unless DNS_AHEAD is off, `replay` if its port is free, every other one once.

    Raises StartError if a line uses a variable that `values` lacks.
    """
    commands = _commands(path, values)
    release = commands.pop(RELEASE, [])
    counts = {
        "worker": environment.workers,
        "demo": int(environment.demo),
        "preresolver": int(environment.dns_ahead != "off"),
        "replay": int(has_replay_port(environment)),
    }
    return Processes(
        release=release,
        commands={
            kind if count == 1 else f"{kind}.{number}": command
            for kind, [command] in commands.items()
            for count in [counts.get(kind, 1)]
            for number in range(1, count + 1)
        },
    )


def commands_of(name: str, path: Path, values: Mapping[str, str]) -> list[list[str]]:
    """Return the words of each command of one line: of `release` one or more, of a process one.

    Raises StartError for a name that is in no line, or a variable that `values` lacks.
    """
    commands = _commands(path, values)
    if name not in commands:
        raise StartError(f"{path}: there is no line {name!r}, but {', '.join(commands)}")
    return commands[name]


def _commands(path: Path, values: Mapping[str, str]) -> dict[str, list[list[str]]]:
    """The commands of each line, by its name; only `release` has several, joined by `&&`."""
    lines = [
        line.split(":", 1)
        for line in path.read_text().splitlines()
        if ":" in line and not line.startswith("#")
    ]
    try:
        words = {kind.strip(): Template(command).substitute(values) for kind, command in lines}
    except KeyError as error:
        raise StartError(f"{path}: there is no setting {error}") from error
    return {
        kind: [
            shlex.split(command)
            for command in (text.split("&&") if kind == RELEASE else [text])
            if command.strip()
        ]
        for kind, text in words.items()
    }
