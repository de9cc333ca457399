"""`/api/v1/hosts/{id}/name-wait` and `/api/v1/crawls/{id}/dns-replay`: why a host waits for its
name, and what a run would have cost other caches.
"""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's
# decorator.

from dataclasses import asdict
from typing import Annotated, Any

from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from pydantic import Field

from crawling.dashboard.base.api_parameters import CrawlId, RunNumber
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.hosts.api import HostId
from crawling.dashboard.hosts.dns_replay import MOST_ACCESSES, replayed
from crawling.dashboard.hosts.name_wait import why_waits
from crawling.models import Host
from serving.access import AuthenticatedRequest, needs

waits, replays = Router(), Router()
may_look = needs("dnscache.view_dnsentry")
Capacity = Annotated[int, Query(ge=100, le=100_000, description="capacity of the cache, in names")]


class NameWaitOut(Schema):
    host: str
    name: str = Field(description="what DNS is asked for; empty: no look-up is needed")
    sentences: list[str] = Field(description="sentences about the name; the first is the answer")
    crawls: list[int] = Field(description="running crawls with URLs queued there")


class CacheFigures(Schema):
    accesses: int
    hits: int
    expired: int = Field(description="expired answers served without a flag")
    look_ups: int
    waited: float = Field(description="seconds, together")


class CacheReplayOut(Schema):
    accesses: int = Field(description=f"of the run's pages, at most the first {MOST_ACCESSES:,}")
    names: int
    forgotten: int = Field(
        description="names that are no longer in the cache, and count as typical"
    )
    policies: dict[str, CacheFigures]


@waits.get("/{host_id}/name-wait", response=NameWaitOut, summary="Explain the DNS wait of a host")
@may_look
def get_host_name_wait(request: AuthenticatedRequest, host_id: HostId) -> dict[str, Any]:
    found = why_waits(get_object_or_404(Host, pk=host_id).name)
    crawls = sorted({queue.run.crawl_id for queue in found.queues})
    return {"host": found.host, "name": found.name, "sentences": found.sentences, "crawls": crawls}


@replays.get(
    "/{crawl_id}/dns-replay",
    response=CacheReplayOut,
    summary="Replay the DNS accesses of a run under other caches",
)
@may_look
def get_crawl_dns_replay(
    request: AuthenticatedRequest,
    crawl_id: CrawlId,
    run: RunNumber = None,
    names: Capacity = 10_000,
) -> dict[str, Any]:
    return asdict(replayed(get_run(crawl_id, run), capacity=names))
