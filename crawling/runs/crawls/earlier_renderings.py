"""The needs of an order's rendered pages, by what earlier runs of its start URLs have shown."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from django.db.models import F
from django.db.models.functions import Coalesce

from crawling.models import RunRendering
from crawling.orders.order import CrawlOrder
from crawling.orders.rendering_needs import RenderedEarlier, RenderingNeeds, rendering_needs

#: the latest runs that rendered pages among which one of the same start URLs is sought, and the
#: start URLs that are compared
LATEST, SEEDS = 200, 100


def needs_of_rendering(order: CrawlOrder, claim: Mapping[str, int]) -> RenderingNeeds | None:
    """None if the order renders no page. claim: of each process, by class. The cores are those of
    this machine, as in the default capacity of pools.
    """
    if not order.may_render:
        return None
    return rendering_needs(order, claim, os.cpu_count() or 1, earlier_rendering_times(order.seeds))


def earlier_rendering_times(seeds: Sequence[str]) -> RenderedEarlier | None:
    """The latest run that had one of these seeds and rendered pages. If each page was rendered
    there, those that gained by it count as the ones that needed a browser.
    """
    latest = RunRendering.objects.order_by("-pk").values("pk")[:LATEST]
    row = (
        RunRendering.objects.filter(pk__in=latest, run__crawl__seeds__overlap=list(seeds[:SEEDS]))
        .select_related("run__crawl")
        .annotate(read=Coalesce(F("run__total__succeeded") - F("run__total__files"), 0))
        .order_by("-pk")
        .first()
    )
    if row is None:
        return None
    crawl = row.run.crawl
    if crawl.order.rendering.render == "always":
        tallies = row.patterns.values()
        pages, needed = (sum(tally[place] for tally in tallies) for place in (0, 1))
    else:
        pages, needed = max(row.pages, row.read), row.pages
    return RenderedEarlier(crawl.name, pages, needed)
