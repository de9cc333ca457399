"""The sources on the page of a crawl's seeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawling.dashboard.base.panels import Panel, Place
from crawling.models import CrawlJob, SeedSource, SeedSourceKind
from crawling.uses.seed_sources.sources import SHORTEST, SeedSourceFields, folder_of


def _sources(crawl: CrawlJob) -> Mapping[str, Any]:
    """With an empty form for another."""
    return {
        "sources": SeedSource.objects.filter(crawl=crawl).select_related("created_by"),
        "folder": folder_of(crawl),
        "kinds": [(kind.value, kind.label, SHORTEST[kind]) for kind in SeedSourceKind],
        "wanted": SeedSourceFields(SeedSourceKind.FEED),
        "minutes": SeedSourceFields("").minutes,
    }


PANELS = (Panel(Place.SEEDS, "seed_sources/_sources.html", _sources),)
