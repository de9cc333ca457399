"""A worker with readers of documents that never end: one holds the interpreter's lock, one lets
other threads run, one takes more and more memory.
"""

from __future__ import annotations

import re

from crawling.fetching.worker.rq_worker import ShiftWorker
from crawling.web.documents.base import Document, DocumentSource
from crawling.web.documents.registry import readers_by_type

FREEZES, BURNS, SWELLS = "application/x-freezes", "application/x-burns", "application/x-swells"


def freeze(source: DocumentSource) -> Document:
    """Take years, in which no other thread runs."""
    re.match(r"(a|aa)+$", "a" * 200 + "b")
    return Document()


def burn(source: DocumentSource) -> Document:
    """Take years, but let other threads run."""
    while True:
        sum(range(10_000))


def swell(source: DocumentSource) -> Document:
    """Take one megabyte after another, for ever."""
    taken = []
    while True:
        taken.append(bytearray(1024 * 1024))


class FreezingWorker(ShiftWorker):
    """A worker with readers for three types that no other worker reads."""

    def __init__(self, *args: object, **options: object) -> None:
        readers_by_type().update({FREEZES: freeze, BURNS: burn, SWELLS: swell})
        super().__init__(*args, **options)
