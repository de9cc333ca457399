"""Collects the links of a shift's pages and stores them. Later a background job makes the dataset's
parts from them, so the crawl does not wait for that work, and its process needs no memory for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable
from datetime import datetime

from django.utils import timezone

from crawling.base.errors import ArchiveTrouble
from crawling.base.storage import storage
from crawling.datasets.collected_pages import PageOfLinks, page_pieces
from crawling.datasets.parts import new_part, note_part_collected
from crawling.frontier import UrlOutcome
from crawling.models import LinksPart

logger = logging.getLogger(__name__)

#: the number of pages whose links are stored together; fewer if the shift ends
MOST_PAGES = 2_000
MOST_BYTES = 4 * 1024 * 1024
#: a part with fewer pages is stored after this time, since other derived data depends on the links;
#: or after this share of the run's age, if that is longer. So a run gets about a hundred more parts
#: each time its age trebles; with a fixed time, each query to a crawl of weeks would open thousands
#: of files
LEAST_SECONDS = 10.0
SHARE_OF_AGE = 0.01


class PartWriter:
    """Collects links. Used by the shift's own thread: `open` before pages are recorded, `take`
    after that.
    """

    def __init__(self, run_id: int, shift_id: int, started_at: datetime | None = None) -> None:
        """started_at: the start of the run; None if it starts now."""
        self._run_id, self._shift_id = run_id, shift_id
        self._started_at = started_at or timezone.now()
        self._due_at = 0.0
        self._part: LinksPart | None = None
        self._pages: list[PageOfLinks] = []
        self._bytes = 0

    def open(self) -> int:
        """Begin a part for the next pages, if none is begun. Return its id."""
        if self._part is None:
            self._part = new_part(self._run_id, self._shift_id)
            self._part.save()
            age = (timezone.now() - self._started_at).total_seconds()
            self._due_at = time.monotonic() + max(LEAST_SECONDS, SHARE_OF_AGE * age)
        return self._part.pk

    def take(self, outcomes: Iterable[UrlOutcome], settled: Collection[int]) -> None:
        """Take the links of the recorded pages."""
        for outcome in outcomes:
            if outcome.answer and outcome.page_links and outcome.url_id in settled:
                self._pages.append((outcome.url_id, outcome.page_links))
                self._bytes += len(outcome.page_links.written)
        is_late = self._part is not None and time.monotonic() > self._due_at
        if is_late or len(self._pages) >= MOST_PAGES or self._bytes >= MOST_BYTES:
            self.write()

    def write(self) -> None:
        """Store the collected links. If that fails, they are read from the archive later."""
        part, pages = self._part, self._pages
        self._part, self._pages, self._bytes = None, [], 0
        if part is None:
            return
        try:
            storage().put(part.collected_name, page_pieces(pages))
        except (OSError, ArchiveTrouble) as error:
            facts = {"file": part.name, "error": str(error)}
            logger.error("links of a run cannot be stored", extra=facts)
        else:
            note_part_collected(part)
