"""Where settings of a crawl lead to its checkpoints."""

from __future__ import annotations

from django.urls import reverse

from crawling.dashboard.base.panels import Link, Place
from crawling.models import Run


def _address(run: Run | None, crawl: int) -> str:
    return reverse("crawling:checkpoints", args=[crawl]) if run else ""


LINKS = (Link(Place.SETTINGS, "Checkpoints", _address),)
