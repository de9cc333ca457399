"""A ZIP file in the making whose directory is on disk.

`zipfile` keeps some 400 bytes of each file in memory until the end, where it writes the directory
of them. They are kept in a file here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from crawling.uses.exports.layout import LayoutWriter

#: what the directory has of a file, beside its name and date
KEPT = (
    *("compress_type", "flag_bits", "CRC", "compress_size", "file_size", "header_offset"),
    *("create_version", "extract_version", "external_attr"),
)


class DirectoryOnDisk(list[ZipInfo]):
    def __init__(self, file: IO[str]) -> None:
        super().__init__()
        self._file, self._count = file, 0

    def append(self, info: ZipInfo) -> None:
        told = [info.filename, info.date_time, [getattr(info, name) for name in KEPT]]
        self._file.write(json.dumps(told) + "\n")
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[ZipInfo]:
        self._file.seek(0)
        for line in self._file:
            name, (year, month, day, hour, minute, second), facts = json.loads(line)
            info = ZipInfo(name, (year, month, day, hour, minute, second))
            for fact, value in zip(KEPT, facts, strict=True):
                setattr(info, fact, value)
            yield info


class _NoNames(dict[str, ZipInfo]):
    """The names of a `ZipFile`, which warns of one that comes twice: here none does."""

    def __setitem__(self, name: str, info: ZipInfo) -> None:
        pass


@contextmanager
def zip_file(out: LayoutWriter, directory: Path) -> Iterator[ZipFile]:
    """A ZIP file that is written to `out`; directory: a new file for what is known of its files.

    At the end of the block the directory is in `out`.
    """
    with directory.open("x+") as file:
        archive = ZipFile(cast(IO[bytes], out), "w", ZIP_DEFLATED)
        archive.filelist, archive.NameToInfo = DirectoryOnDisk(file), _NoNames()
        try:
            yield archive
        finally:
            archive.close()
