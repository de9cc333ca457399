"""A worker that reads types of documents that never end: of time, as an expression that holds the
interpreter's lock, or of memory.
"""

from __future__ import annotations

import re

from crawling.fetching.worker.rq_worker import ShiftWorker
from crawling.web.documents.base import Document, DocumentSource
from crawling.web.documents.registry import readers

FREEZES, BURNS, SWELLS = "application/x-freezes", "application/x-burns", "application/x-swells"


def freeze(source: DocumentSource) -> Document:
    """Years, in which no other thread runs."""
    re.match(r"(a|aa)+$", "a" * 200 + "b")
    return Document()


def burn(source: DocumentSource) -> Document:
    """Years, too, but other threads get their turns."""
    while True:
        sum(range(10_000))


def swell(source: DocumentSource) -> Document:
    """A megabyte and another one, for ever."""
    taken = []
    while True:
        taken.append(bytearray(1024 * 1024))


class FreezingWorker(ShiftWorker):
    """Reads three types that nothing else does."""

    def __init__(self, *args: object, **options: object) -> None:
        readers().update({FREEZES: freeze, BURNS: burn, SWELLS: swell})
        super().__init__(*args, **options)
