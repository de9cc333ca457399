"""The progress of each fetch thread. The thread reports its steps, and the shift's board shows
them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum


class FetchStep(StrEnum):
    """The steps of a fetch thread (SEEDS B11)."""

    WAITING_FOR_HOST = "waiting for a host's turn"
    CONNECTING = "connecting"
    FETCHING = "waiting for the answer"
    READING = "reading the answer"
    WAITING_FOR_BANDWIDTH = "waiting for bandwidth"
    WAITING_FOR_MEMORY = "waiting for memory"
    WAITING_FOR_BROWSER = "waiting for a browser"
    RENDERING = "rendering"
    EXTRACTING = "extracting"
    ARCHIVING = "handing over to the archive"


_teller: ContextVar[Callable[[FetchStep, str | None], None] | None] = ContextVar(
    "teller", default=None
)


def report_step(step: FetchStep, url: str | None = None) -> None:
    """Report the current step of this thread, and its URL if it has changed."""
    if teller := _teller.get():
        teller(step, url)


@dataclass(frozen=True, slots=True)
class ThreadProgress:
    step: FetchStep
    url: str
    #: seconds by the wall clock, which other machines understand
    since: float


class ProgressBoard:
    """The steps of all fetch threads of a shift, by number. Each thread writes its own line."""

    def __init__(self) -> None:
        self._lines: dict[int, ThreadProgress] = {}

    def join(self, number: int) -> None:
        """From now on, show the reports of this thread on the board, under its number."""

        def note_step(step: FetchStep, url: str | None) -> None:
            before = self._lines.get(number)
            where = url if url is not None else before.url if before else ""
            if before is None or (before.step, before.url) != (step, where):
                self._lines[number] = ThreadProgress(step, where, time.time())

        _teller.set(note_step)
        note_step(FetchStep.WAITING_FOR_HOST, "")

    @contextmanager
    def hide_thread(self, number: int, url: str) -> Iterator[None]:
        """Show that thread `number` reads another URL's page, until the block ends. Then show its
        former step again.
        """
        before = self._lines[number]
        report_step(FetchStep.EXTRACTING, url)
        try:
            yield
        finally:
            self._lines[number] = before

    def leave(self, number: int) -> None:
        _teller.set(None)
        self._lines.pop(number, None)

    def lines(self) -> dict[int, ThreadProgress]:
        return dict(sorted(self._lines.copy().items()))
