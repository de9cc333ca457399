"""Where pages of a crawl lead to its withdrawals."""

from __future__ import annotations

from crawling.dashboard.base.panels import Link, Place, of_crawl, with_page

LINKS = (
    Link(Place.PAGES, "Withdrawals", of_crawl("crawling:withdrawals")),
    Link(
        Place.PAGE,
        "Withdraw the page",
        with_page("crawling:withdrawals"),
        needs="crawling.delete_crawljob",
    ),
)
