"""What a back-up says of itself."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from crawling.checkpoints.directory import MANIFEST, SUMS, compare, read_sums
from crawling.errors import CheckpointTrouble

FORMAT, VERSION = "crawlsite-backup", 1


class BackupTrouble(CheckpointTrouble):
    """The back-up cannot be made or restored."""


@dataclass(frozen=True)
class BackupManifest:
    taken_at: str
    migrations: list[str]
    #: columns and rows by table
    tables: dict[str, dict[str, Any]]
    #: their last values
    sequences: dict[str, int]
    #: names of the archive's files that are in it
    files: list[str]
    #: of those that are on other machines
    elsewhere: dict[str, str]
    #: as they were, for the new installation; secrets are not among them
    settings: dict[str, Any]
    #: shows whether SECRET_KEY is the one that sealed logins of crawls
    sealed: str

    def as_text(self) -> str:
        return (
            json.dumps(
                {"format": FORMAT, "version": VERSION, **asdict(self)}, indent=2, default=str
            )
            + "\n"
        )


def table_file(table: str) -> str:
    return f"{table}.copy.gz"


def read_manifest(folder: Path) -> BackupManifest:
    """Read a back-up's and compare every file with its checksum.

    Raises BackupTrouble with a sentence for whatever is wrong.
    """
    try:
        sums = read_sums(folder)
        for name in sums:
            compare(folder, name, sums)
        said = json.loads((folder / MANIFEST).read_text())
        if said["format"] != FORMAT or said["version"] > VERSION:
            raise BackupTrouble(f"{folder} is no back-up that this version reads.")
        manifest = BackupManifest(
            **{name: said[name] for name in BackupManifest.__dataclass_fields__}
        )
    except BackupTrouble:
        raise
    except CheckpointTrouble as trouble:
        raise BackupTrouble(str(trouble)) from trouble
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BackupTrouble(f"{folder} is no back-up, or not a whole one: {error}.") from error
    wanted = [*map(table_file, manifest.tables), *(f"archive/{name}" for name in manifest.files)]
    if lacking := [name for name in wanted if name not in sums]:
        raise BackupTrouble(f"{folder} is damaged: {SUMS} does not know {lacking[0]}.")
    return manifest
