"""ReplayWeb.page, the program in the browser that shows WACZ files. It is installed separately,
from an npm package with a known checksum, and served unmodified (docs/decisions/0090). Its licence
is the AGPL, version 3 or later; our code neither contains nor imports it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

#: the time limits for fetching a package of some megabytes, and for a query for which a page waits
FETCH_SECONDS, ASK_SECONDS = 300, 10
NO_NPM = "npm is not installed on this server."
#: the variables that npm gets; others of ours contain passwords
PASSED = re.compile(
    r"(PATH|HOME|LANG|TMPDIR|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|(https?|all|no)_proxy)$|npm_config_",
    re.IGNORECASE,
)


class NoPackage(Exception):
    """npm cannot provide the package here; the message has the reason."""


class BadPackage(Exception):
    """The file is not the package that this version of crawlsite is made for."""


@dataclass(frozen=True)
class NpmPackage:
    #: the name of its folder in STATE_DIR
    name: str
    version: str
    #: the integrity of the package: `npm view NAME@VERSION dist.integrity`
    integrity: str
    #: the names of files in the installed folder, by their names in the package
    files: Mapping[str, str]

    def folder(self, state_dir: Path) -> Path:
        """The directory of the player, once it is installed."""
        return state_dir / self.name / self.version

    def is_installed(self, state_dir: Path) -> bool:
        """Whether the player is installed. Its folder gets its name only when it is complete."""
        return self.folder(state_dir).is_dir()

    def why_not_fetched(self) -> str:
        """Why npm cannot fetch the package, as a sentence; empty if it can."""
        once = ("--fetch-retries=0", "--fetch-timeout=5000")
        try:
            said = _npm_output("view", f"{self.name}@{self.version}", "dist.integrity", *once)
        except NoPackage as reason:
            return str(reason)
        return "" if said.strip() == self.integrity else "The registry of npm has another package."

    def fetch_and_install(self, state_dir: Path) -> None:
        """Fetch the package by npm and install it. Raises NoPackage, BadPackage, OSError."""
        with TemporaryDirectory() as folder:
            wanted = f"{self.name}@{self.version}"
            _npm_output("pack", "--silent", wanted, folder=folder, seconds=FETCH_SECONDS)
            self.install(Path(folder) / f"{self.name}-{self.version}.tgz", state_dir)

    def install(self, package: Path, state_dir: Path) -> None:
        """Unpack the kept files of a package. Raises BadPackage, OSError."""
        if (found := _integrity_of_file(package)) != self.integrity:
            raise BadPackage(f"{package} has the checksum {found}, not {self.integrity}.")
        place = self.folder(state_dir)
        fresh = place.with_name(f"{self.version}.unfinished")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        with tarfile.open(package) as archive:
            for source_name, name in self.files.items():
                source = archive.extractfile(f"package/{source_name}")
                assert source
                with (fresh / name).open("wb") as file:
                    shutil.copyfileobj(source, file)
        shutil.rmtree(place, ignore_errors=True)
        fresh.rename(place)


def _npm_output(*words: str, folder: str | None = None, seconds: float = ASK_SECONDS) -> str:
    """The output of a command of npm. Raises NoPackage."""
    program = shutil.which("npm")
    if program is None:
        raise NoPackage(NO_NPM)
    try:
        end = subprocess.run(  # noqa: S603  # arguments of our own
            [program, "--ignore-scripts", *words],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if PASSED.match(name)},
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise NoPackage(f"npm has not answered within {seconds:.0f} seconds.") from error
    if end.returncode:
        lines = [line for line in end.stderr.splitlines() if line.strip()]
        raise NoPackage(f"npm does not get it: {' '.join(lines)[:300] or 'it says no reason'}")
    return end.stdout


def _integrity_of_file(package: Path) -> str:
    with package.open("rb") as file:
        digest = hashlib.file_digest(file, "sha512").digest()
    return "sha512-" + b64encode(digest).decode()


#: the files that are served: all of the player, with its licence
SERVED = ("index.html", "sw.js", "ui.js", "LICENSE")
PLAYER = NpmPackage(
    name="replaywebpage",
    version="2.5.3",
    integrity="sha512-"
    "nCj2PSON3BxeSJKE8AsYPyULv0XPZKJWfy4l9PyQre9SqwLZ+WKZVs/sfLqPOQ4GrH+0YkjbwOhr8cSTH08gsQ==",
    files={name: name for name in SERVED},
)
