"""The pictures of a shift's browser for users who look at it. Without them none is made."""

from __future__ import annotations

import threading

from crawling.runs.live_view import is_watched, store_views
from crawling.web.rendering.process import BrowserProcess

#: the interval of pictures, and of the question whether a user looks
LOOK_SECONDS = 1.0


class LiveView:
    """A thread of its own, since a page may take seconds to show a picture."""

    def __init__(self, run_id: int, shift_id: int, process: BrowserProcess) -> None:
        self._run_id, self._shift_id, self._process = run_id, shift_id, process
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="live view", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            if (numbers := self._process.pages()) and is_watched(self._run_id):
                views = map(self._process.view, numbers)
                store_views(self._shift_id, [view for view in views if view])

    def stop(self) -> None:
        """Show nothing further."""
        self._over.set()

    def join(self) -> None:
        """Wait for the end of the thread, once the browser has ended."""
        self._thread.join()
