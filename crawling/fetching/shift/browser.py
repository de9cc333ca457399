"""The browser of a shift: started for its first page that is to be rendered, ended once it is
idle.
"""

from __future__ import annotations

import logging
import threading
import time

from crawling.fetching.pipeline.page_browser import MIB, PageFiles
from crawling.fetching.shift.live_view import LiveView
from crawling.installation.run_log import write
from crawling.jobs.rq_jobs import note_browser_trouble
from crawling.models import Level
from crawling.web.rendering.process import BrowserProcess
from crawling.web.rendering.types import Door, NoBrowserError, PageToRender, Rendered, RenderVerdict

logger = logging.getLogger(__name__)
#: the longest wait for the browser to start
START_SECONDS = 60.0
#: how long a browser may be without a page, and how often in a shift it may end too early
IDLE_SECONDS, MOST_DEATHS = 30.0, 3


class ShiftBrowser:
    """Fetch threads call `render`, the shift's own thread all else, since the browser ends with the
    thread that started it.
    """

    def __init__(self, run_id: int, shift_id: int) -> None:
        self.files = PageFiles()
        self._run_id, self._shift_id = run_id, shift_id
        self._process: BrowserProcess | None = None
        self._live_view: LiveView | None = None
        self._changed = threading.Condition()
        self._again = threading.Lock()
        self._wanted = self._deaths = 0
        self._is_over = False
        self._used_at = time.monotonic()

    def render(self, page: PageToRender, door: Door) -> Rendered | None:
        """A page is rendered once more if the browser died while it had others, too: one of them
        may be the cause. Such pages take turns, so that the cause is soon the only one.
        """
        with self._changed:
            self._wanted += 1
        try:
            rendered = self._try(page, door)
            if rendered and rendered.verdict is RenderVerdict.CRASHED_BESIDE:
                with self._again:
                    rendered = self._try(page, door) or rendered
            return rendered
        finally:
            with self._changed:
                self._wanted -= 1
                self._used_at = time.monotonic()

    def _try(self, page: PageToRender, door: Door) -> Rendered | None:
        process = self._await_process()
        return process.render(page, door) if process else None

    def _await_process(self) -> BrowserProcess | None:
        """The browser, which the shift's own thread starts; None if it cannot be started."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._living() or self._is_over or self._deaths >= MOST_DEATHS,
                START_SECONDS,
            )
            return self._living()

    def _living(self) -> BrowserProcess | None:
        return None if self._process is None or self._process.has_ended else self._process

    def tend(self, mebibytes: int) -> None:
        """Start a browser that is needed, and end one that is dead or idle; to be called often.

        mebibytes: the most that a page may have.
        """
        if self._process and self._process.has_ended:
            self._deaths += 1
            logger.warning("a browser process has ended too early")
            self._stop()
        if self._process is None:
            if self._wanted and self._deaths < MOST_DEATHS:
                self._start(mebibytes)
        elif not self._wanted and time.monotonic() - self._used_at > IDLE_SECONDS:
            self._stop()

    def _start(self, mebibytes: int) -> None:
        process = None
        try:
            process = BrowserProcess(memory_bytes=mebibytes * MIB)
        except (NoBrowserError, OSError) as error:  # OSError: too many processes or open files
            self._deaths = MOST_DEATHS
            note_browser_trouble(str(error))
            told = f"No page is rendered by this work session. {error}"
            write(self._run_id, told, level=Level.WARNING)
        else:
            note_browser_trouble("")
            self._live_view = LiveView(self._run_id, self._shift_id, process)
        with self._changed:
            self._process = process
            self._changed.notify_all()

    def _stop(self) -> None:
        with self._changed:
            process, self._process = self._process, None
            self._changed.notify_all()
        if self._live_view:
            self._live_view.stop()
        if process:
            process.end()
        if self._live_view:
            self._live_view.join()
            self._live_view = None

    def stop_waiting(self) -> None:
        """Let no thread wait for the start of the browser any more."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def end(self) -> None:
        """End the browser; pages that it has count as crashed."""
        self.stop_waiting()
        self._stop()
