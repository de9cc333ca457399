"""What the endpoints of crawls answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ninja import Schema
from pydantic import Field

from allocation.api.schemas import WaitOut


class Numbers(Schema):
    """discovered = queued + in_process + succeeded + failed + excluded + quarantined; fetched: answers, whatever their status;
    duplicate: of them, those whose content another page of the run had first; reused: of them, those taken from other crawls."""

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
    reused: int


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


class HoldingOut(Schema):
    resource: str
    units: int
    since: datetime | None


class DealingsOut(Schema):
    """What one of a run's processes holds of the bank, and what it waits for there."""

    number: int = Field(description="of the process in its run, from 0")
    process: int = Field(description="its id in the bank")
    pool: int
    holdings: list[HoldingOut]
    wait: WaitOut | None


class CrawlDetail(CrawlOut):
    bank: list[DealingsOut] = Field(description="processes of the latest run that hold or wait for something")
    order: dict[str, Any] = Field(description="the fields that would make this crawl")
    revision: int = Field(description="of the order; an edit may say on which it is based")


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

    These are the fields that SEEDS B6 asks for: number, layer and weight stand as id, depth and rank (with backlinks or credit, by the
    order of visits); the hit count as attempts; the reference as via; the time to live as expires_at.
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
    etag: str = Field(description="the server's mark of this version")
    unchanged_since: int | None = Field(description="id of an earlier run's page: the server says (304) that it is still as it was then")
    via: int | None = Field(description="id of the page on which it was found")
    rank: float
    backlinks: int | None = Field(description="best-first: pages that were seen to link to it before it was fetched")
    credit: float | None = Field(description="OPIC: what it held when it was fetched")
    attempts: int


class HostOut(Schema):
    name: str
    process: int
    queued: int
    due_at: datetime
    delay_seconds: float
    leased_to: str | None = Field(description="the crawl that is fetching from it, if one is")


class ToeOut(Schema):
    """A toe thread of the process with this number; `url` is empty while it has none."""

    process: int
    number: int
    step: str
    url: str
    since: datetime


class ToeList(Schema):
    items: list[ToeOut]


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
    reused: int


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
    found_on: str | None = Field(description="on whose page, or by whose redirect, it was found; null for a seed")
    final_url: str | None
    title: str | None
    fetched_at: datetime | None


class FactOut(Schema):
    about: str = Field(description="rule, verdict, frontier, robots, duplicate, redirect, quarantine or budget")
    sentence: str
    url: str | None = Field(description="the address that the sentence ends with")
    at: datetime | None = Field(description="the moment that the sentence ends with, if it does")


class WhyOut(Schema):
    """What one crawl says of a URL, by its rules as they stand now."""

    crawl: int
    name: str
    run: int | None = Field(description="number of the latest run; null for a draft")
    met: str = Field(description="its state in that run; kept out, never met, or not started")
    rule: str = Field(description="the rule that decides")
    number: int = Field(description="of the rule; they are asked in this order")
    admits: bool
    revision: int = Field(description="of the order")
    facts: list[FactOut]


class TestedOut(Schema):
    """What a crawl's rules say of an address; `rule` is empty for what is no URL."""

    url: str
    admits: bool
    rule: str
    number: int
    sentence: str
    hops: int = Field(description="links in a row outside the scope, this one included")


class TestedList(Schema):
    revision: int
    items: list[TestedOut]


class RevisionOut(Schema):
    number: int
    at: datetime
    by: str | None = Field(description="null: the command line")
    changes: dict[str, list[Any]] = Field(description="from and to, by field")


class RevisionPage(Schema):
    items: list[RevisionOut]
    next: int | None


class BlackOut(Schema):
    id: int
    kind: str
    text: str
    reason: str
    by: str | None = Field(description="null: the command line")
    created_at: datetime


class BlackPage(Schema):
    items: list[BlackOut]
    next: int | None


class ExceptionOut(Schema):
    """Until `expires_at` the host's robots.txt does not bind the crawl."""

    id: int
    host: str
    reason: str
    by: str | None = Field(description="null: the command line")
    created_at: datetime
    expires_at: datetime
    holds: bool


class ExceptionList(Schema):
    items: list[ExceptionOut]


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
    crawls: list[WhyOut] = Field(description="why, or why not, by crawl, the newest first; on the first page only")
    next: int | None
