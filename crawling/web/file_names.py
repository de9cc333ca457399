"""The name of the file for a document, from its address and its type (SEEDS B1)."""

from __future__ import annotations

import re
from mimetypes import MimeTypes
from pathlib import PurePosixPath
from urllib.parse import unquote

from crawling.web.addresses import Address

#: Python's own tables, since those of machines differ
TYPES = MimeTypes(filenames=())
#: types that say nothing about a name
UNTYPED = ("", "application/octet-stream")
#: Python's tables know this type only as that of style sheets
XML = "application/xml"
INDEX = "index"
#: a file name may have 255 bytes, and a character has at most 4
LONGEST_STEM, LONGEST_SUFFIX = 50, 10
#: all characters except letters, digits and marks that every file system accepts
UNSAFE = re.compile(r"[^\w.,=@~+-]+")
#: the names of devices, which Windows opens whatever suffix follows
DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)", re.IGNORECASE)


def file_name(address: Address, content_type: str) -> str:
    """The last part of the path, with the query, and a suffix that belongs to the type.

    A suffix of the path is kept if it fits the type, or if the type is unknown. Otherwise the
    type's suffix is appended.
    """
    path, _, query = address.target.partition("?")
    last = PurePosixPath(_safe_characters(unquote(path.rpartition("/")[2])) or INDEX)
    suffix = _file_suffix(last.suffix, content_type)
    stem = last.stem if suffix == last.suffix else last.name
    stem = f"{stem}-{_safe_characters(unquote(query))}" if query else stem
    return _avoid_device_name(stem)[:LONGEST_STEM].rstrip(".-") + suffix[:LONGEST_SUFFIX]


def folder_name(step: str) -> str:
    """A folder name for a segment of a path; empty if none of its characters is allowed."""
    return _avoid_device_name(_safe_characters(step))[:LONGEST_STEM].rstrip(".-")


def _safe_characters(text: str) -> str:
    return UNSAFE.sub("-", text).strip(".-")


def _avoid_device_name(name: str) -> str:
    return f"_{name}" if DEVICES.match(name) else name


def _file_suffix(of_path: str, content_type: str) -> str:
    if content_type in UNTYPED or of_path.lower() in TYPES.guess_all_extensions(
        content_type, strict=False
    ):
        return of_path
    return (
        ".xml"
        if content_type == XML
        else TYPES.guess_extension(content_type, strict=False) or of_path
    )
