"""What the endpoints of crawls answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ninja import Schema
from pydantic import Field


class Numbers(Schema):
    """discovered = queued + in_process + succeeded + failed + excluded + quarantined; fetched: answers, whatever their status;
    duplicate: of them, those whose content another page of the run had first."""

    discovered: int
    queued: int
    in_process: int
    fetched: int
    succeeded: int
    failed: int
    excluded: int
    bytes: int
    quarantined: int
    duplicate: int


class CrawlOut(Numbers):
    """A crawl and its latest run."""

    id: int
    name: str
    seeds: list[str] = Field(description="the first ten")
    tags: list[str] = Field(description="words to find it by")
    run: int | None = Field(description="number of the latest run; null for a draft")
    state: str = Field(description="draft, waiting, queued, running, pausing, paused, stopping, finished, stopped or failed")
    reason: str = Field(description="why it is in this state, in a sentence")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    seconds: float | None
    pages_per_second: float | None


class CrawlDetail(CrawlOut):
    order: dict[str, Any] = Field(description="the fields that would make this crawl")


class Retried(Schema):
    retried: int = Field(description="URLs that were put back into the queue")
    crawl: CrawlOut


class RunOut(Schema):
    number: int
    state: str
    reason: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    counts: Numbers


class PageOut(Schema):
    """An answered fetch. `fingerprint` is that of the content: pages that share it are copies of each other.

    These are the fields that SEEDS B6 asks for: number, layer and weight stand as id, depth and rank; the hit count as attempts;
    the reference as via; the time to live as expires_at.
    """

    id: int
    url: str
    final_url: str
    status: int
    content_type: str
    bytes: int
    charset: str
    title: str
    depth: int
    fetched_at: datetime
    fetch_seconds: float
    address: str
    fingerprint: str
    warc_file: str | None = Field(description="the archive file that has it; null if it was not archived")
    warc_offset: int | None = Field(description="where its response or revisit record begins in that file")
    duplicate_of: int | None = Field(description="id of the page that had this content first in the run")
    canonical: str = Field(description="the address by which the page itself wants to be known")
    author: str
    description: str
    abstract: str
    language: str
    links: int = Field(description="addresses it leads to, in scope or not")
    needs_browser: bool = Field(description="scripts make its content, and they are not run")
    last_modified: datetime | None
    expires_at: datetime | None
    via: int | None = Field(description="id of the page on which it was found")
    rank: float
    attempts: int


class HostOut(Schema):
    name: str
    process: int
    queued: int
    due_at: datetime
    delay_seconds: float
    leased_to: str | None = Field(description="the crawl that is fetching from it, if one is")


class LogOut(Schema):
    id: int
    at: datetime
    level: str
    message: str
    url: str


class CauseOut(Schema):
    state: str = Field(description="failed or excluded")
    status: int | None = Field(description="HTTP's, or a negative one of the crawler's own")
    meaning: str
    reason: str
    urls: int
    example: str = Field(description="one of the URLs")


class MinuteOut(Schema):
    """A retry takes off what no longer counts, in the minute in which it was asked for."""

    minute: datetime
    discovered: int
    fetched: int
    succeeded: int
    failed: int
    excluded: int
    bytes: int
    quarantined: int
    duplicate: int


class Met(Schema):
    """What became of a URL in one run."""

    crawl: int
    name: str
    run: int
    state: str
    status: int | None
    error: str
    depth: int
    attempts: int
    final_url: str | None
    title: str | None
    fetched_at: datetime | None


class CrawlPage(Schema):
    items: list[CrawlOut]
    next: int | None


class RunPage(Schema):
    items: list[RunOut]
    next: int | None


class PagePage(Schema):
    items: list[PageOut]
    next: int | None


class HostPage(Schema):
    items: list[HostOut]
    next: int | None


class LogPage(Schema):
    items: list[LogOut]
    next: int | None


class CauseList(Schema):
    items: list[CauseOut]


class MinutePage(Schema):
    items: list[MinuteOut]
    next: int | None


class UrlHistory(Schema):
    url: str = Field(description="in canonical form")
    items: list[Met]
    next: int | None
