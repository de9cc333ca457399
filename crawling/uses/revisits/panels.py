"""Where pages of a crawl lead to its revisits."""

from __future__ import annotations

from crawling.dashboard.base.panels import Link, Place, of_crawl

LINKS = (Link(Place.PAGES, "Freshness", of_crawl("crawling:freshness")),)
