"""The directory of a checkpoint: gzipped lines of JSON, a manifest, and the SHA-256 of every file
in the format of `sha256sum -c`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crawling.archive.adoption import checked_name
from crawling.archive.reader import packed_pieces
from crawling.base.errors import ArchiveTrouble, CheckpointTrouble
from crawling.models import ArchiveFile

FORMAT, VERSION = "crawlsite-checkpoint", 1
#: all rows of a checkpoint are read as they are at its first statement
SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
MANIFEST, SUMS, ARCHIVE = "manifest.json", "SHA256SUMS", "archive"
#: a higher level takes more time than the smaller file is worth
GZIP_LEVEL = 4


@dataclass(frozen=True)
class CheckpointManifest:
    #: the crawl's order, as for a new crawl
    order: dict[str, Any]
    #: the state and times of the run
    run: dict[str, Any]
    taken_at: str
    counts: dict[str, int]
    #: the number of rows and the columns of each part, by name
    parts: dict[str, dict[str, Any]]
    #: the names of its archive files; empty if it refers to files in the archive
    archive: list[str] = field(default_factory=list)

    def as_text(self) -> str:
        return json.dumps({"format": FORMAT, "version": VERSION, **self.__dict__}, indent=2) + "\n"


class CheckpointWriter:
    """Fills a directory. Readers ignore the directory until `finish` has written everything to the
    disk.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sums: dict[str, str] = {}
        (folder / ARCHIVE).mkdir(parents=True)

    def write_pieces(self, name: str, pieces: Iterable[bytes]) -> None:
        """Write a compressed file."""
        with (
            (self._folder / name).open("wb") as file,
            gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as packed,
        ):
            for piece in pieces:
                packed.write(piece)
        self._seal(name)

    def write_lines(self, name: str, lines: Iterable[str]) -> int:
        """Write a part. Return the number of its lines."""
        count = 0
        with (
            (self._folder / part_file(name)).open("wb") as file,
            gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as packed,
        ):
            for line in lines:
                packed.write(line.encode() + b"\n")
                count += 1
        self._seal(part_file(name))
        return count

    def copy_archive(self, row: ArchiveFile) -> None:
        """Copy the committed bytes of an archive file. Raises OSError, CheckpointTrouble."""
        try:
            with (self._folder / ARCHIVE / row.name).open("wb") as file:
                for piece in packed_pieces(row):
                    file.write(piece)
        except ArchiveTrouble as error:
            raise CheckpointTrouble(str(error)) from error
        self._seal(f"{ARCHIVE}/{row.name}")

    def take_archive(self, name: str) -> None:
        """Add an archive file that is already in the directory's `archive`."""
        self._seal(f"{ARCHIVE}/{name}")

    def finish(self, manifest: str) -> int:
        """Write the manifest and the checksums. Return the total size in bytes."""
        (self._folder / MANIFEST).write_text(manifest)
        self._seal(MANIFEST)
        (self._folder / SUMS).write_text(
            "".join(f"{digest}  {name}\n" for name, digest in self._sums.items())
        )
        _sync(self._folder / SUMS)
        _sync(self._folder)
        return sum((self._folder / name).stat().st_size for name in self._sums)

    def _seal(self, name: str) -> None:
        _sync(self._folder / name)
        self._sums[name] = digest_of(self._folder / name)


def read_manifest(folder: Path) -> CheckpointManifest:
    """Read and check a whole checkpoint.

    Raises CheckpointTrouble with a sentence for any fault.
    """
    try:
        sums = read_sums(folder)
        text = (folder / MANIFEST).read_text()
    except (OSError, ValueError) as error:
        raise CheckpointTrouble(
            f"{folder} is no checkpoint, or not a whole one: {error}."
        ) from error
    check_file(folder, MANIFEST, sums)
    manifest = _read_manifest_text(folder, text)
    for name in (
        *map(part_file, manifest.parts),
        *(f"{ARCHIVE}/{checked_name(name)}" for name in manifest.archive),
    ):
        check_file(folder, name, sums)
    return manifest


def read_sums(folder: Path) -> dict[str, str]:
    """The checksums of a directory's files, by name. Raises OSError, ValueError."""
    return {
        name: digest
        for digest, _, name in (
            line.partition("  ") for line in (folder / SUMS).read_text().splitlines()
        )
    }


def check_file(folder: Path, name: str, sums: Mapping[str, str]) -> None:
    """Raise CheckpointTrouble unless the file matches its checksum."""
    if name not in sums:
        raise CheckpointTrouble(f"{folder} is damaged: {SUMS} does not know {name}.")
    file = folder / name
    if file.is_symlink() or (file.exists() and not file.is_file()):
        raise CheckpointTrouble(f"{name} in {folder} is a link or a device, not a plain file.")
    try:
        is_whole = digest_of(file) == sums[name]
    except OSError as error:
        raise CheckpointTrouble(
            f"{folder} is damaged: {name} cannot be read ({error.strerror})."
        ) from error
    if not is_whole:
        raise CheckpointTrouble(f"{folder} is damaged: {name} is damaged. Use another copy.")


def _read_manifest_text(folder: Path, text: str) -> CheckpointManifest:
    try:
        said = json.loads(text)
        if said["format"] != FORMAT:
            raise CheckpointTrouble(f"{folder} is no checkpoint of a crawl.")
        if said["version"] > VERSION:
            raise CheckpointTrouble(
                f"{folder} is of format {said['version']}, and this server reads formats up to "
                f"{VERSION}; upgrade it before importing."
            )
        return CheckpointManifest(
            **{name: said[name] for name in CheckpointManifest.__dataclass_fields__}
        )
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointTrouble(
            f"{folder} is damaged: its {MANIFEST} cannot be understood ({error})."
        ) from error


def read_lines(folder: Path, name: str) -> Iterator[str]:
    """The lines of a part, one at a time. Raises CheckpointTrouble."""
    try:
        with gzip.open(folder / part_file(name), "rt", encoding="utf-8", newline="\n") as file:
            for line in file:
                yield line.rstrip("\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise CheckpointTrouble(f"{folder / part_file(name)} cannot be read: {error}.") from error


def part_file(name: str) -> str:
    return f"{name}.jsonl.gz"


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
