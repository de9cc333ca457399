"""Answers of the endpoints about a run's findings."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from crawling.dashboard.base.api_schemas import FetchCountsOut
from crawling.dashboard.run.processes import FetchThreadRow
from serving.schemas import Schema


class PageOut(Schema):
    """An answered fetch.

    `fingerprint` is that of the content: pages that share it are copies of each other.

    These are the fields of SEEDS B6: number and layer are id and depth, the hit count as backlinks,
    the reference as via, the time to live as expires_at.
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
    warc_file: str | None = Field(description="its archive file; null if it was not archived")
    warc_offset: int | None = Field(
        description="offset of its response or revisit record in that file"
    )
    duplicate_of: int | None = Field(
        description="id of the first page of the run with this content"
    )
    canonical: str = Field(description="canonical URL that the page states")
    author: str
    description: str
    abstract: str
    language: str
    links: int = Field(description="its links, in scope or not")
    needs_browser: bool = Field(description="its content needs scripts, which are not run")
    rendering: int | None = Field(
        description="1 to 19: a browser rendered it; 20 and above: it did not; negative: the fetch "
        "status at which the rendering was ended; null: the order renders no page"
    )
    why_rendering: str = Field(description="the same in a sentence; empty for null")
    failed_requests: int | None = Field(
        description="of the page in the browser, of which the first 20 are kept; null: not rendered"
    )
    console_errors: int | None = Field(
        description="of the page in the browser, in the first 20 lines of its console; null: not "
        "rendered"
    )
    first_fault: str = Field(
        description="the first failed request with its reason, or the first console error; empty: "
        "none"
    )
    unread: str = Field(
        description="why it was not read completely: size, time, memory, links, broken, copy; "
        "empty: it was",
    )
    last_modified: datetime | None
    expires_at: datetime | None
    etag: str = Field(description="the server's identifier of this version")
    unchanged_since: int | None = Field(
        description="id of a page of an earlier run: the server confirmed (304) that it is "
        "unchanged"
    )
    payload_from: int | None = Field(
        description="id of the page of another run, perhaps of another crawl, whose record has the "
        "payload; 0: on the server that the checkpoint comes from"
    )
    via: int | None = Field(description="id of the page on which it was found")
    rank: float
    backlinks: int | None = Field(
        description="links to it from pages of the run: its hit count, at most half a minute late"
    )
    weight: float = Field(
        description="links_weight x backlinks + url_weight x importance, the rank in the order "
        "best_first; set in every order"
    )
    credit: float | None = Field(description="OPIC: its credit when it was fetched")
    attempts: int


class FieldOut(Schema):
    text: str = Field(description="the beginning of the first value, up to 200 characters")
    more: int = Field(description="further values of the page")


class PageRow(PageOut):
    fields: dict[str, FieldOut | None] = Field(
        description="extracted fields that `fields` asks for; null: the page has no value"
    )


class HostOut(Schema):
    name: str
    process: int
    queued: int
    done: int
    due_at: datetime | None = Field(
        description="when the next fetch may begin; null: its queue is empty, or the run has ended"
    )
    delay_seconds: float
    leased_by: str = Field(description="the crawl with a running fetch; empty: none")
    robots: str = Field(description="the state of its robots.txt")
    is_at_gate: bool = Field(description="its name is not resolved yet")
    outage: str = Field(description="why it cannot be reached; empty: it can")


class HostPage(Schema):
    items: list[HostOut]
    next: int | None


class FetchThreadList(Schema):
    items: list[FetchThreadRow]


class LogOut(Schema):
    id: int
    at: datetime
    level: str
    message: str
    url: str


class LogPage(Schema):
    items: list[LogOut]
    next: int | None


class CauseOut(Schema):
    state: str = Field(description="failed or excluded")
    status: int = Field(description="HTTP status, or a negative one of the crawler")
    meaning: str
    reason: str = Field(description="reason stored with one of the URLs")
    urls: int
    example: str = Field(description="one of the URLs")


class CauseList(Schema):
    items: list[CauseOut]


class MinuteOut(FetchCountsOut):
    """A retry subtracts failures that no longer count, in the minute of the request."""

    minute: datetime


class MinutePage(Schema):
    items: list[MinuteOut]
    next: int | None
