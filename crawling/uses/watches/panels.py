"""Where pages of a crawl lead to its watches."""

from __future__ import annotations

from crawling.dashboard.base.panels import Link, Place, of_crawl, with_page
from crawling.runs.crawls.shared_items import SharedKind
from crawling.uses.watches.watching import hand_watch_over, watches_by

LINKS = (
    Link(Place.PAGES, "Watches", of_crawl("crawling:watches")),
    Link(
        Place.PAGE,
        "Watch the page",
        with_page("crawling:watches"),
        needs="crawling.change_crawljob",
    ),
)
SHARED = (
    SharedKind(
        "feed",
        "crawling:watches",
        watches_by,
        lambda watch, receiver, by: hand_watch_over(watch, receiver, by=by),
    ),
)
