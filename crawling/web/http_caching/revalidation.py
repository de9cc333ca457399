"""Ask whether a document has changed, and make an answer of "it has not" (RFC 9110, section 13; RFC
9111, section 4.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from email.utils import format_datetime

#: headers that may be sent back as they came; longer ones are no validators but a way to follow
#: readers
ETAG = re.compile(r"[\x21-\x7e\x80-\xff][\x20-\x7e\x80-\xff]{0,500}")
#: they are about the one answer that had them, not about the document
OF_THE_ANSWER = frozenset(
    {"content-length", "content-encoding", "content-range", "transfer-encoding", "connection"}
)


def read_etag(text: str) -> str:
    """An entity tag as it is to be sent back; "" for none."""
    tag = text.strip()
    return tag if ETAG.fullmatch(tag) else ""


def questions(etag: str, last_modified: datetime | None) -> dict[str, str]:
    """The headers that ask for a document only if it is another than this one; empty if the
    document has no validator.
    """
    headers = {"If-None-Match": etag} if etag else {}
    if last_modified:
        headers["If-Modified-Since"] = format_datetime(last_modified, usegmt=True)
    return headers


def read_head(head: str) -> dict[str, str]:
    """The fields of an answer's head as it was archived, by name in small letters; a field that
    comes twice is joined.
    """
    fields: dict[str, str] = {}
    for name, mark, value in (line.partition(":") for line in head.splitlines()[1:]):
        if mark:
            key = name.strip().lower()
            fields[key] = f"{fields[key]}, {value.strip()}" if key in fields else value.strip()
    return fields


def renewed(stored: Mapping[str, str], said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The stored document's fields, updated by those of "not modified" (RFC 9111, section 3.2)."""
    return {
        **stored,
        **{name.lower(): value for name, value in said if name.lower() not in OF_THE_ANSWER},
    }
