"""ReplayWeb.page, the program in the browser that shows WACZ files: a part that is installed apart,
from an npm package of a known checksum, and served as it is released (docs/decisions/0090). Its
licence is the AGPL, version 3 or later; no code of ours contains or imports it.
"""

from __future__ import annotations

import hashlib
import shutil
import tarfile
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class BadPackage(Exception):
    """The file is not the package that this version of crawlsite is made for."""


@dataclass(frozen=True)
class NpmPackage:
    #: its folder in STATE_DIR
    name: str
    version: str
    #: the integrity of the package: `npm view NAME@VERSION dist.integrity`
    integrity: str
    #: names in the installed folder, by those in the package
    files: Mapping[str, str]

    def folder(self, state_dir: Path) -> Path:
        """Where it is, once it is installed."""
        return state_dir / self.name / self.version

    def is_installed(self, state_dir: Path) -> bool:
        """The folder gets its name when it is complete."""
        return self.folder(state_dir).is_dir()

    def install(self, package: Path, state_dir: Path) -> None:
        """Unpack what is kept of a package. Raises BadPackage, OSError."""
        if (found := _integrity(package)) != self.integrity:
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


def _integrity(package: Path) -> str:
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
