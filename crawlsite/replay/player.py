"""ReplayWeb.page, the program in the browser that shows WACZ files: a part that is installed apart
and served as it is released (docs/decisions/0090). Its licence is the AGPL, version 3 or later; no
code of ours contains or imports it.
"""

from __future__ import annotations

import hashlib
import shutil
import tarfile
from base64 import b64encode
from pathlib import Path

VERSION = "2.5.3"
#: of the package: `npm view replaywebpage@VERSION dist.integrity`
INTEGRITY = "sha512-" + (
    "nCj2PSON3BxeSJKE8AsYPyULv0XPZKJWfy4l9PyQre9SqwLZ+WKZVs/sfLqPOQ4GrH+0YkjbwOhr8cSTH08gsQ=="
)
#: what is served: all that the player consists of, with its licence
SERVED = ("index.html", "sw.js", "ui.js", "LICENSE")
FOLDER = "package/"


class BadPlayer(Exception):
    """The file is not the package of ReplayWeb.page that this version of crawlsite is made for."""


def player_folder(state_dir: Path) -> Path:
    """Where it is, once it is installed."""
    return state_dir / "replaywebpage" / VERSION


def is_installed(state_dir: Path) -> bool:
    return (player_folder(state_dir) / "sw.js").is_file()


def install(package: Path, state_dir: Path) -> None:
    """Unpack what is served of an npm package. Raises BadPlayer, OSError."""
    if (found := _integrity(package)) != INTEGRITY:
        raise BadPlayer(f"{package} has the checksum {found}, not {INTEGRITY}.")
    place = player_folder(state_dir)
    fresh = place.with_name(f"{VERSION}.unfinished")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    with tarfile.open(package) as archive:
        for name in SERVED:
            source = archive.extractfile(f"{FOLDER}{name}")
            assert source
            (fresh / name).write_bytes(source.read())
    shutil.rmtree(place, ignore_errors=True)
    fresh.rename(place)


def _integrity(package: Path) -> str:
    with package.open("rb") as file:
        digest = hashlib.file_digest(file, "sha512").digest()
    return "sha512-" + b64encode(digest).decode()
