"""The browser of a shift as fetch threads see it, and a page that was read with it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from crawling.frontier import RenderingOutcome
from crawling.machine.eviction import forget_oldest
from crawling.orders.sections.rendering import RenderingPart
from crawling.web.documents.base import Document
from crawling.web.rendering.types import Door, DoorAnswer, PageToRender, Rendered, RenderLimits

MIB = 1024 * 1024
#: the most bytes of the files that a shift keeps for its next pages
KEPT_BYTES = 32 * MIB
#: the most hosts that a shift lets rest; the latest ones count
MOST_RESTING = 1_000


class BusyHosts:
    """The hosts of files that had too much to do, and when pages of a shift may ask them again. All
    threads use it.
    """

    def __init__(self) -> None:
        #: in monotonic seconds
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def rest(self, host_key: str, seconds: float) -> None:
        with self._lock:
            self._until.pop(host_key, None)
            self._until[host_key] = time.monotonic() + seconds
            forget_oldest(self._until, MOST_RESTING)

    def is_resting(self, host_key: str) -> bool:
        return self._until.get(host_key, 0.0) > time.monotonic()


class PageFiles:
    """The latest files that pages of a shift have loaded, by their URLs. All threads use it."""

    def __init__(self) -> None:
        self.busy = BusyHosts()
        self._files: OrderedDict[str, DoorAnswer] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, url: str) -> DoorAnswer | None:
        return self._files.get(url)

    def put(self, url: str, answer: DoorAnswer) -> None:
        if len(answer.body) > KEPT_BYTES // 4:
            return
        with self._lock:
            replaced = self._files.pop(url, None)
            self._bytes += len(answer.body) - (len(replaced.body) if replaced else 0)
            self._files[url] = answer
            while self._bytes > KEPT_BYTES:
                _, oldest = self._files.popitem(last=False)
                self._bytes -= len(oldest.body)


class BrowserEngine(Protocol):
    """The browser of a shift."""

    files: PageFiles

    def render(self, page: PageToRender, door: Door) -> Rendered | None:
        """None if no browser can be started."""
        ...


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page that was read before its outcome is concluded, because a browser might render it."""

    #: the rendered page, else the plain one; None if it is no HTML page, and not read yet
    document: Document | None
    about: RenderingOutcome
    #: the renditions of the page by a browser, by kind: type and bytes
    derived: Mapping[str, tuple[str, bytes]] = field(default_factory=dict, repr=False)

    @property
    def is_rendered(self) -> bool:
        return bool(self.derived)


def limits_of(part: RenderingPart) -> RenderLimits:
    return RenderLimits(
        seconds=part.render_seconds,
        body_bytes=part.render_bytes,
        requests=part.render_requests,
        scrolls=part.render_scrolls,
        memory_bytes=part.render_memory_mib * MIB,
    )
