"""Why links of a document may be missing: not all of it was read."""

from __future__ import annotations

from enum import StrEnum


class TruncationReason(StrEnum):
    """What ended the reading before the document's end."""

    SIZE = "size"
    TIME = "time"
    MEMORY = "memory"
    LINKS = "links"
    BROKEN = "broken"

    @property
    def sentence(self) -> str:
        return SENTENCES[self]


SENTENCES = {
    TruncationReason.SIZE: "Only its beginning was read: it is larger than documents of its "
    "kind are read.",
    TruncationReason.TIME: "It was read in part: reading it took too much processor time.",
    TruncationReason.MEMORY: "It was read in part: reading it took too much memory.",
    TruncationReason.LINKS: "Not all of its links were taken: it has more than are taken of one "
    "document.",
    TruncationReason.BROKEN: "It was read in part: it breaks off, is damaged, or is locked by a "
    "password.",
}
