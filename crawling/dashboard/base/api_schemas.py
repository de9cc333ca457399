"""Answers of the endpoints about crawls and their runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from allocation.api.schemas import WaitOut
from serving.schemas import Schema


class FetchCountsOut(Schema):
    """`crawling.frontier.run_counts.FetchCounts` as JSON. fetched: answers, whatever their status;
    duplicate: of them, those whose content another page of the run had first; reused: of them,
    those taken from other crawls; files: of them, images, styles and others that pages load;
    saved_bytes: of archive files, by payloads stored before."""

    discovered: int
    fetched: int
    succeeded: int
    failed: int
    excluded: int
    bytes: int
    quarantined: int
    duplicate: int
    reused: int
    saved_bytes: int
    files: int


class UrlCountsOut(FetchCountsOut):
    """discovered = queued + in_process + succeeded + failed + excluded + quarantined."""

    queued: int
    in_process: int


class CrawlOut(UrlCountsOut):
    """A crawl and its latest run."""

    id: int
    name: str
    seeds: list[str] = Field(description="the first ten")
    tags: list[str] = Field(description="words to find it by")
    owner: str = Field(description="the user who made it; empty: the command line")
    team: str = Field(description="whose limit and reserve of the pool apply; empty: none")
    pool: str = Field(description="empty: the default pool")
    run: int | None = Field(description="number of the latest run; null for a draft")
    state: str = Field(
        description="draft, waiting, queued, running, pausing, paused, stopping, finished, "
        "stopped or failed"
    )
    reason: str = Field(description="why it is in this state, in a sentence")
    schedule_text: str = Field(description="when it starts by itself; empty: it has no schedule")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    seconds: float | None
    pages_per_second: float | None


class HoldingOut(Schema):
    resource: str
    units: int
    used: int | None = Field(
        description="units in use when the work session last measured them; of memory what its "
        "work process has grown by, with 200 MiB allowed besides; null if not measured"
    )
    since: datetime | None


class ProcessHoldingsOut(Schema):
    """The units and requests of one of a run's processes."""

    number: int = Field(description="of the process in its run, from 0")
    process: int = Field(description="its id in the pool")
    pool: int
    holdings: list[HoldingOut]
    wait: WaitOut | None


class CrawlDetail(CrawlOut):
    resources: list[ProcessHoldingsOut] = Field(
        description="processes of the latest run that hold or wait for something"
    )
    order: dict[str, Any] = Field(description="order fields of this crawl")
    revision: int = Field(
        description="revision of the order; an edit may name the one it is based on"
    )


class RetriedOut(Schema):
    retried: int = Field(description="URLs that were put back into the queue")
    crawl: CrawlOut


class RunOut(Schema):
    number: int
    state: str
    reason: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    counts: UrlCountsOut


class CrawlListOut(Schema):
    items: list[CrawlOut]
    next: int | None


class RunPage(Schema):
    items: list[RunOut]
    next: int | None
