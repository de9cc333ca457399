"""Whether a shift has a reading process: where a core is free for it, and as long as that pays."""

from __future__ import annotations

import logging
import time

from crawling.machine.cpu_affinity import SpareCore
from crawling.web.documents.base import DocumentSource
from crawling.web.reading.process import NO_USE, AheadDocument, ReadingProcess

logger = logging.getLogger(__name__)

#: how often a shift looks whether it needs a reading process, and after one that it has
START_SECONDS, LOOK_SECONDS = 0.25, 1.0
#: the part of its core that a shift uses before it gets a reading process; a crawl that waits for
#: its hosts needs none
BUSY = 0.6
#: documents a second below which the reading process is not needed any more
LEAST_RATE = 20.0
#: A reading process that waits for its core for so many seconds for each that it works there gets
#: nothing for a time, since fetch threads would wait for it. On a core that it shares with
#: PostgreSQL and a web server it waits for 0.2 seconds, at 0.85 it gains nothing
MOST_LATENESS, REST_SECONDS = 1.0, 20.0
#: how long it may be without use, and how often in a shift it is replaced after its death
IDLE_SECONDS, MOST_DEATHS = 15.0, 3


class ShiftReading:
    """Fetch threads call `begin`, the shift's own thread all else."""

    def __init__(self) -> None:
        self._process: ReadingProcess | None = None
        self._core: SpareCore | None = None
        self._rests_until = self._used_at = 0.0
        self._deaths = 0
        self._looked_at, self._spent = time.monotonic(), time.process_time()
        self._seen = NO_USE

    def begin(self, source: DocumentSource, *, is_listed: bool) -> AheadDocument | None:
        """Let the process read an HTML document; None if it has to be read here."""
        process = self._process
        if process is None or self._rests_until:
            return None
        return process.begin(source, is_listed=is_listed)

    def tend(self) -> None:
        """Look after the process from time to time; to be called often."""
        passed = time.monotonic() - self._looked_at
        if passed > (LOOK_SECONDS if self._process else START_SECONDS):
            self.look()

    def look(self) -> None:
        """Start the process, let it rest or end it."""
        now, spent = time.monotonic(), time.process_time()
        seconds, used = max(now - self._looked_at, 1e-3), spent - self._spent
        self._looked_at, self._spent = now, spent
        if self._process is None:
            if used > BUSY * seconds and self._deaths < MOST_DEATHS:
                self._start(now)
            return
        assert self._core
        if self._process.has_ended:
            self._deaths += 1
            logger.warning("a reading process has ended too early")
            self.end()
        elif self._core.is_wanted():
            self.end()
        elif now > self._rests_until:
            self._judge(now, seconds)

    def _start(self, now: float) -> None:
        self._core = SpareCore.take()
        if self._core is None:
            return
        try:
            self._process = ReadingProcess([self._core.core])
        except OSError as error:  # too many processes or open files
            logger.warning("a reading process cannot be started", extra={"error": str(error)})
            self._deaths += 1
            self.end()
        self._seen, self._used_at, self._rests_until = NO_USE, now, 0.0

    def _judge(self, now: float, seconds: float) -> None:
        """Let the process rest if it waits longer for its core than it works there, and end it if
        it was hardly used.
        """
        assert self._process
        used, (documents, worked, waited) = self._process.use(), self._seen
        self._seen = used
        is_late = used.waited - waited > MOST_LATENESS * (used.worked - worked)
        self._rests_until = now + REST_SECONDS if is_late else 0.0
        if is_late or used.documents - documents > LEAST_RATE * seconds:
            self._used_at = now
        elif now - self._used_at > IDLE_SECONDS:
            self.end()

    def end(self) -> None:
        """End the process; documents that it has are read by the threads that wait for them."""
        if self._process:
            self._process.end()
            self._process = None
        if self._core:
            self._core.give_back()
            self._core = None
