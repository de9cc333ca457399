"""An answer on its way through the archive to its page's row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crawling.web.exchanges import Exchange


@dataclass(frozen=True, slots=True)
class ArchiveLocation:
    """Where the archive has it: the record's file, offset and length there."""

    file_id: int
    offset: int
    length: int
    payload_sha256: bytes
    #: the payload is in another record
    is_revisit: bool


@dataclass(eq=False, slots=True)
class CapturedExchange:
    """An exchange and what the archive wants to know besides. `place` is set once it is kept."""

    url: str
    #: None where it is no link's end
    depth: int | None
    attempts: int
    exchange: Exchange
    #: id of the earlier page whose document the server says is still right
    unchanged_since: int | None = None
    #: whether a page's row will point at it; at a robots.txt none does
    has_page: bool = True
    #: all that the document leads to, followed or not
    outlinks: Sequence[str] = ()
    #: the payload's, where it is known already
    sha256: bytes = b""
    place: ArchiveLocation | None = None
