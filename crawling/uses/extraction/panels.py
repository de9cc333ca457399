"""Where pages of a crawl lead to extracted rows."""

from __future__ import annotations

from crawling.dashboard.base.panels import Link, Place, of_run

LINKS = (Link(Place.PAGES, "Extracted", of_run("crawling:extracted")),)
