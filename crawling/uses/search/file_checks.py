"""Checks whether the files of the search index are intact.

tantivy can check its files, but not by its Python module. It writes a checksum to the end of each
file of a segment. The list of segments has no checksum, so the list is compared with the files and
with the open index.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tantivy

from crawling.base.errors import IndexBroken
from crawling.uses.search.schema import new_schema

META = "meta.json"
#: the end of a file: a JSON object, its length, and a number by which tantivy recognises it
END, MAGIC = struct.Struct("<II"), 1337
PIECE_BYTES = 1024 * 1024
KEYS = {"index_settings", "segments", "schema", "opstamp"}
SEGMENT_KEYS = {"segment_id", "max_doc", "deletes"}
DELETES_KEYS = {"num_deleted_docs", "opstamp"}
#: the name of the error that a fault in tantivy's own code raises; its class is no Exception, and
#: belongs to no module
PANIC = "PanicException"
#: the errors that damaged files cause: tantivy's own are ValueErrors; missing numbers and names
#: cause the others
FAULTS = (OSError, ValueError, ArithmeticError, LookupError)
#: a number of documents that no segment of tantivy reaches
MOST_DOCUMENTS = 2**31
#: inode, time of change, and size
FileStamp = tuple[int, int, int]


@contextmanager
def faults_as_damage() -> Iterator[None]:
    """Raise IndexBroken for any error of tantivy about a file."""
    try:
        yield
    except FAULTS as error:
        raise IndexBroken from error
    except BaseException as error:
        if type(error).__name__ != PANIC:
            raise
        raise IndexBroken from error


def stamp_of(file: Path) -> FileStamp | None:
    """A stamp that changes with each change of a file. None if the file does not exist."""
    try:
        told = file.stat()
    except OSError:
        return None
    return told.st_ino, told.st_mtime_ns, told.st_size


def segment_sizes(folder: Path) -> dict[str, int]:
    """The number of documents in each segment, including deleted ones, by the name of its files.

    Raises ValueError or OSError.
    """
    meta = json.loads((folder / META).read_bytes())
    _check_keys(meta, KEYS | {"payload"} if "payload" in meta else KEYS)
    sizes = {}
    for segment in meta["segments"]:
        _check_keys(segment, SEGMENT_KEYS)
        if segment["deletes"] is not None:
            _check_keys(segment["deletes"], DELETES_KEYS)
        size = segment["max_doc"]
        if type(size) is not int or not 0 < size <= MOST_DOCUMENTS:
            raise ValueError(f"{META} has a segment of {size} documents")
        sizes[str(segment["segment_id"]).replace("-", "")] = size
    return sizes


def _check_keys(found: Any, keys: set[str]) -> None:
    if not isinstance(found, dict) or found.keys() != keys:
        raise ValueError(f"{META} has an object without {', '.join(sorted(keys))}")


def files_of(folder: Path, segments: dict[str, int]) -> list[Path]:
    """All files that are read when these segments are searched."""
    return [file for name in segments for file in sorted(folder.glob(f"{name}.*"))]


def check_file(file: Path) -> None:
    """Read a whole file. Raises ValueError if it is damaged, and OSError."""
    size = file.stat().st_size
    with file.open("rb") as content:
        content.seek(max(0, size - END.size))
        end = content.read(END.size)
        length, magic = END.unpack(end) if len(end) == END.size else (0, 0)
        left = size - END.size - length
        if magic != MAGIC or left < 0:
            raise ValueError(f"{file.name} has no end")
        content.seek(left)
        stated = json.loads(content.read(length))
        content.seek(0)
        checksum = 0
        while left and (piece := content.read(min(left, PIECE_BYTES))):
            checksum = zlib.crc32(piece, checksum)
            left -= len(piece)
    if not isinstance(stated, dict) or stated.get("crc") != checksum:
        raise ValueError(f"{file.name} has another checksum than it states")


def check_segments(index: tantivy.Index, segments: dict[str, int]) -> None:
    """Compare an open index with its list of segments. Raises ValueError."""
    if index.schema != new_schema():
        raise ValueError(f"{META} has other fields")
    searcher, sizes = index.searcher(), list(segments.values())
    if searcher.num_segments != len(sizes):
        raise ValueError(f"{META} has another number of segments")
    for number in range(searcher.num_segments):
        size = next((size for size in sizes if _has_size(searcher, number, size)), None)
        if size is None:
            raise ValueError(f"{META} states another size of a segment")
        sizes.remove(size)


def _has_size(searcher: tantivy.Searcher, segment: int, size: int) -> bool:
    return _has_document(searcher, segment, size - 1) and not _has_document(searcher, segment, size)


def _has_document(searcher: tantivy.Searcher, segment: int, number: int) -> bool:
    """Whether a segment has a document with this number, deleted or not."""
    try:
        searcher.doc(tantivy.DocAddress(segment, number))
    except ValueError:
        return False
    return True
