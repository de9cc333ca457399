"""Where pages of a crawl lead to its copies."""

from __future__ import annotations

from crawling.dashboard.base.panels import Link, Place, of_run

LINKS = (Link(Place.PAGES, "Copies", of_run("crawling:copies")),)
