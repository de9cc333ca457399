"""The single interface to stored files: those of the archive, and the files next to them. A name is
`folder/file`. The files are in a directory of this machine, or in a bucket. Files of the archive
that are being written are always in the directory, and are uploaded as they grow.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from django.conf import settings

from crawling.base.errors import ArchiveTrouble

#: macOS has no fdatasync
SYNC = getattr(os, "fdatasync", os.fsync)
STEP = r"[A-Za-z0-9_-][A-Za-z0-9._-]*"
NAME = re.compile(f"{STEP}/{STEP}")
#: the suffix of a file's name until `put` has written all of it
UNFINISHED = ".unfinished"
#: the suffix of locks of this machine, which are no stored files
LOCK = ".lock"
PIECE_BYTES = 1024 * 1024
#: the size of blocks of zeros that are left out as holes, so that they take no space on the disk
HOLE_BYTES = 32 * 1024


class StoredFile(Protocol):
    """A stored file that is written to at its end."""

    def write(self, data: bytes) -> None: ...

    def sync(self) -> None:
        """Return once all written bytes are safe on the disk."""
        ...

    def close(self) -> None: ...


class Storage(Protocol):
    """The interface. Each method may raise OSError, and ArchiveTrouble for an invalid name."""

    def open(self, name: str, offset: int = 0) -> BinaryIO:
        """Read a file from an offset on. Raises FileNotFoundError."""
        ...

    def put(self, name: str, pieces: Iterable[bytes]) -> int:
        """Store a new file, which appears as a whole or not at all. Return its size."""
        ...

    def path(self, name: str) -> Path:
        """The path by which a program of this machine can open the file, which may be a copy. It
        does not exist if the file does not.
        """
        ...

    def workspace(self, folder: str) -> Path:
        """A directory of this machine for a program that manages its own files, all of which can be
        made anew. It is created if it is missing.
        """
        ...

    def list(self, folder: str) -> dict[str, int]:
        """The names of the files in a folder, and their sizes."""
        ...

    def names_with_unfinished(self, folder: str) -> set[str]:
        """The names of the files in a folder, with those that a `put` is writing or has left
        unfinished.
        """
        ...

    def size(self, name: str) -> int | None:
        """The size of a file. None if it does not exist."""
        ...

    def delete(self, name: str) -> None:
        """Delete a file, if it exists, and the remains of a killed `put`."""
        ...

    def delete_folder(self, folder: str) -> None: ...


class DirectoryStorage:
    """Files in a directory. Links are resolved, so no file outside is read, cut or deleted."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._inside = os.path.join(os.path.realpath(root), "")

    def path(self, name: str) -> Path:
        """The path of a file. Raises ArchiveTrouble if it is outside the directory."""
        place = self._root / name
        if not NAME.fullmatch(name) or not os.path.realpath(place).startswith(self._inside):
            raise ArchiveTrouble(f"{name} would be outside ARCHIVE_DIR; it is not touched.")
        return place

    def open(self, name: str, offset: int = 0) -> BinaryIO:
        file = self.path(name).open("rb")
        file.seek(offset)
        return file

    def append(self, name: str, length: int) -> StoredFile:
        """Continue a file after its first `length` bytes, or begin it. Bytes after these are cut
        off.

        Raises ArchiveTrouble if the file has fewer bytes.
        """
        return _DirectoryFile(self.path(name), length)

    def put(self, name: str, pieces: Iterable[bytes]) -> int:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(path.name + UNFINISHED)
        try:
            size = _write_pieces(unfinished, pieces)
            unfinished.rename(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)  # otherwise an unfinished file could fill the disk
            raise
        _sync_folder(path.parent)
        return size

    def cut(self, name: str, length: int) -> None:
        """Cut off a file after its first `length` bytes."""
        os.truncate(self.path(name), length)

    def workspace(self, folder: str) -> Path:
        path = self._root / folder
        path.mkdir(parents=True, exist_ok=True)
        return path

    def list(self, folder: str) -> dict[str, int]:
        path = self._root / folder
        files = sorted(path.iterdir()) if path.exists() else []
        return {
            file.name: file.stat().st_size
            for file in files
            if not file.name.endswith((LOCK, UNFINISHED))
        }

    def names_with_unfinished(self, folder: str) -> set[str]:
        path = self._root / folder
        names = (file.name for file in path.iterdir()) if path.exists() else ()
        return {name.removesuffix(UNFINISHED) for name in names if not name.endswith(LOCK)}

    def size(self, name: str) -> int | None:
        path = self.path(name)
        return path.stat().st_size if path.exists() else None

    def delete(self, name: str) -> None:
        path = self.path(name)
        path.unlink(missing_ok=True)
        path.with_name(path.name + UNFINISHED).unlink(missing_ok=True)

    def delete_folder(self, folder: str) -> None:
        path = self._root / folder
        if path.exists():
            shutil.rmtree(path)


class _DirectoryFile:
    def __init__(self, path: Path, length: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            if os.fstat(self._file).st_size < length:
                raise ArchiveTrouble(
                    f"{path} is shorter than when it was written; put it back as it was, or "
                    "delete the run"
                )
            os.ftruncate(self._file, length)
            if not length:  # the directory entry must survive a power failure, too
                _sync_folder(path.parent)
        except BaseException:
            os.close(self._file)
            raise
        self._end = length

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            count = os.pwrite(self._file, rest, self._end)
            self._end += count
            rest = rest[count:]

    def sync(self) -> None:
        SYNC(self._file)

    def close(self) -> None:
        os.close(self._file)


def _write_pieces(path: Path, pieces: Iterable[bytes]) -> int:
    """Write a file. Return its size once it is safe on the disk."""
    with path.open("wb") as file:
        for piece in pieces:
            if len(piece) >= HOLE_BYTES and not piece.strip(b"\0"):
                file.seek(len(piece), os.SEEK_CUR)
            else:
                file.write(piece)
        size = file.tell()
        file.truncate(size)
        file.flush()
        os.fsync(file.fileno())
    return size


def _sync_folder(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def local_storage() -> DirectoryStorage:
    """The directory of this machine: the storage itself, or the place of files that are not in the
    bucket yet.
    """
    return DirectoryStorage(Path(settings.ARCHIVE_DIR))


def has_bucket() -> bool:
    return bool(settings.ARCHIVE_URL)


def storage() -> Storage:
    if not has_bucket():
        return local_storage()
    from crawling.base.bucket import BucketStorage

    return BucketStorage(settings.ARCHIVE_URL, local_storage())


def pieces_of(file: BinaryIO) -> Iterator[bytes]:
    """The rest of a file, which is closed at the end."""
    with file:
        while piece := file.read(PIECE_BYTES):
            yield piece
