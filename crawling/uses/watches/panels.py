"""Where pages of a crawl lead to its watches."""

from __future__ import annotations

from crawling.dashboard.base.panels import Link, Place, of_crawl, with_page

LINKS = (
    Link(Place.PAGES, "Watches", of_crawl("crawling:watches")),
    Link(
        Place.PAGE,
        "Watch the page",
        with_page("crawling:watches"),
        needs="crawling.change_crawljob",
    ),
)
