"""The ranks of a stored page on its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawling.dashboard.base.panels import Panel, Place
from crawling.models import Page
from crawling.uses.link_graph.lists import ranks_of_page


def _ranks(page: Page) -> Mapping[str, Any] | None:
    ranks = ranks_of_page(page)
    return None if ranks is None else {"ranks": ranks}


PANELS = (Panel(Place.PAGE, "link_graph/_page.html", _ranks),)
