"""All facts about a crawl, for programs."""

from __future__ import annotations

from typing import Any

from allocation.api.pools import wait_out
from crawling.dashboard.base.api_schemas import HoldingOut, ProcessHoldingsOut
from crawling.dashboard.base.crawl_views import crawl_view
from crawling.dashboard.run.processes import ProcessHoldings, holdings_and_waits
from crawling.models import CrawlJob
from crawling.runs.crawls.creation import order_of


def detail(crawl: CrawlJob) -> dict[str, Any]:
    run = crawl.runs.first()
    resources = [_holdings_out(one) for one in holdings_and_waits(run)] if run else []
    return {
        **crawl_view(crawl).as_dict(),
        "resources": resources,
        "order": order_of(crawl),
        "revision": crawl.revision,
    }


def _holdings_out(one: ProcessHoldings) -> ProcessHoldingsOut:
    return ProcessHoldingsOut(
        number=one.number,
        process=one.process,
        pool=one.pool,
        holdings=[
            HoldingOut(resource=held.key, units=held.units, used=used, since=held.since)
            for held, used in one.uses
        ],
        wait=wait_out(one.wait) if one.wait else None,
    )
