"""Which pages of a shift are rendered, and what that brought: the shared state of fetch threads."""

from __future__ import annotations

import threading

from crawling.fetching.pipeline.browser_budget import BrowserBudget
from crawling.fetching.pipeline.page_browser import BrowserEngine
from crawling.frontier import RenderingOutcome
from crawling.frontier.record.renderings import RunRenderings
from crawling.orders.rendering import (
    NO_TALLY,
    Rendering,
    RenderingCounts,
    decide_rendering,
    rendering_pattern,
)
from crawling.orders.sections.rendering import RenderingPart
from crawling.web.addresses import Address, fingerprint
from crawling.web.documents.base import Document
from crawling.web.statuses import FetchStatus

#: the most routes by fragment that a shift follows: scripts may make new ones without end, by
#: which no pattern of URLs is known
MOST_ROUTES = 5_000


class PageRendering:
    """A shift has one if its order renders pages.

    part: the shift's own thread sets it when the order is edited. budget, engine: None if the shift
    has no browser.
    """

    def __init__(
        self,
        part: RenderingPart,
        budget: BrowserBudget | None,
        known: RunRenderings,
        engine: BrowserEngine | None = None,
    ) -> None:
        self.part, self.budget, self.engine = part, budget, engine
        self._pages, self._tallies = known.pages, dict(known.tallies)
        self._routes = set[int]()
        self._lock = threading.Lock()

    def may_follow(self, route: Address) -> bool:
        mark = fingerprint(route.url)
        with self._lock:
            if mark not in self._routes and len(self._routes) >= MOST_ROUTES:
                return False
            self._routes.add(mark)
            return True

    def note_pages(self, pages: int) -> None:
        """Note how many pages all shifts of the run have recorded as rendered."""
        with self._lock:
            self._pages = max(self._pages, pages)

    def judge(self, address: Address, document: Document, *, is_html: bool) -> Rendering:
        """Whether a page is to be rendered, and why. A page that is counts towards the limit.

        document: the plain page.
        """
        if not is_html:
            return Rendering.NOT_HTML
        with self._lock:
            tally = self._tallies.get(rendering_pattern(address).key, NO_TALLY)
            verdict = decide_rendering(address, document, self.part, tally)
            if not verdict.is_rendered:
                return verdict
            if self.budget is None:
                return Rendering.NO_BROWSER
            if self.part.render_pages is not None and self._pages >= self.part.render_pages:
                return Rendering.LIMIT
            self._pages += 1
            return verdict

    def conclude(
        self,
        address: Address,
        verdict: Rendering | FetchStatus,
        *,
        has_gained: bool | None = None,
    ) -> RenderingOutcome:
        """The facts for the page's row.

        verdict: that of `judge`, or the status at which the rendering was ended. has_gained: None
        if the page was not rendered to the end.
        """
        key = rendering_pattern(address).key
        with self._lock:
            if has_gained is not None:
                rendered, gained = self._tallies.get(key, NO_TALLY)
                self._tallies[key] = RenderingCounts(rendered + 1, gained + has_gained)
            elif verdict == FetchStatus.RENDER_BUSY:
                self._pages -= 1
        return RenderingOutcome(int(verdict), key, has_gained)
