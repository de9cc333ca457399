"""A worker whose documents of one type stop the interpreter: a regular expression that tries every combination, as `re` holds the lock."""

from __future__ import annotations

import re

from crawling.documents.base import Document, Source
from crawling.documents.registry import READERS
from crawling.worker import ShiftWorker

FREEZES, BURNS = "application/x-freezes", "application/x-burns"


def freeze(source: Source) -> Document:
    """Years, in which no other thread runs."""
    re.match(r"(a|aa)+$", "a" * 200 + "b")
    return Document()


def burn(source: Source) -> Document:
    """Years, too, but other threads get their turns."""
    while True:
        sum(range(10_000))


class FreezingWorker(ShiftWorker):
    """Reads two types that nothing else does."""

    def __init__(self, *args: object, **options: object) -> None:
        READERS.update({FREEZES: freeze, BURNS: burn})
        super().__init__(*args, **options)
