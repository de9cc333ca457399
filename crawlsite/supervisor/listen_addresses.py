"""The addresses the product listens on: how they are written, and whether they are free."""

from __future__ import annotations

import socket

from crawlsite.env import Environment
from crawlsite.services.stops import StartError

WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - recognised, not bound


def bind_host(host: str) -> str:
    """IPv6 addresses stand in brackets before a port."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def local_address(environment: Environment) -> str:
    """Where this machine reaches the web server."""
    host = environment.host.strip("[]")
    return f"http://{bind_host(WILDCARDS.get(host, host))}:{environment.port}"


def dashboard(environment: Environment) -> str:
    """What operators type."""
    return f"{environment.public_url or local_address(environment)}/"


def check_free(environment: Environment) -> None:
    """Raise StartError, naming the variable to change, unless all our addresses can be bound."""
    if environment.demo and environment.demo_port == environment.port:
        raise StartError(
            f"PORT and DEMO_PORT are both {environment.port}: give one of them another value"
        )
    _check(environment.host.strip("[]"), environment.port, "PORT")
    if environment.demo:
        _check("127.0.0.1", environment.demo_port, "DEMO_PORT")


def _check(host: str, port: int, variable: str) -> None:
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
