"""`/api/v1/hosts`: every host that any crawl has met, to read and to block for all crawls;
`/api/v1/pages`: pages of all crawls.
"""

# No postponed annotations here: django-ninja reads annotations, and could not resolve names behind
# Django's decorator.

from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from django.shortcuts import get_object_or_404
from ninja import Body, Path, Query, Router, Status
from pydantic import ConfigDict, Field

from crawling.dashboard.base.api_parameters import (
    LARGEST,
    TEXT,
    Text,
    may_view,
)
from crawling.dashboard.hosts import listing
from crawling.dashboard.hosts.filter import STATES, HostFilter
from crawling.dashboard.hosts.listing import (
    HOSTS,
    PAGES,
    SHORTEST,
    host_row,
    summarize_hosts,
    visitors_of,
)
from crawling.dashboard.hosts.name_wait import why_waits
from crawling.models import Host
from crawling.runs.crawls.blocklist import block_host, unblock_host
from serving.access import AuthenticatedRequest, needs
from serving.listing.columns import Column, row_of
from serving.listing.endpoint import listed
from serving.listing.sources import FoundList
from serving.schemas import Schema

hosts, search = Router(), Router()
may_block, may_unblock = (
    needs("crawling.add_blocklistentry"),
    needs("crawling.delete_blocklistentry"),
)
HostId = Annotated[int, Path(ge=1, le=LARGEST)]
State = Annotated[Literal["", *STATES], Query(description="only hosts in this state")]  # type: ignore[valid-type]
Wanted = Annotated[
    str,
    Query(min_length=SHORTEST, max_length=200, pattern=TEXT, description="a part of URL or title"),
]
waits = Router()
may_look = needs("dnscache.view_dnsentry")


class BlockReasonIn(Schema):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "asked for by its owner"}]}
    )
    reason: Annotated[str, Field(min_length=1, max_length=300)]


class HostSummaryOut(Schema):
    id: int
    name: str
    addresses: list[str] = Field(description="from the DNS cache")
    robots: str
    trouble: str = Field(description="latest error; empty: none")
    due_at: datetime = Field(description="earliest time of the next request")
    leased_by: str = Field(description="the crawl with a running fetch; empty: none")
    crawls: int = Field(description="crawls whose latest run has this host")
    queued: int
    done: int
    blocked: str | None = Field(description="reason of the block; null: not blocked")


@dataclass(frozen=True)
class VisitorRow:
    crawl: Annotated[int, Column(of="crawl.pk")]
    name: Annotated[str, Column(of="crawl.name")]
    state: str
    queued: int
    done: int


class HostDetailOut(HostSummaryOut):
    visitors: list[VisitorRow] = Field(description="crawls with this host, largest queue first")


@dataclass(frozen=True)
class FoundPage:
    crawl: Annotated[int, Column(of="run.crawl_id")]
    crawl_name: Annotated[str, Column(of="run.crawl.name")]
    run: Annotated[int, Column(of="run.number")]
    page: Annotated[int, Column(of="url_id")]
    url: Annotated[str, Column(of="final_url")]
    title: str
    status: int
    fetched_at: datetime


class FoundPageList(Schema):
    items: list[FoundPage]
    is_more: bool = Field(description="more pages match; search a longer text")


def _find(wanted: HostFilter, *, after: str = "", most: int) -> tuple[list[Any], str | None]:
    rows, following = listing.list_hosts(replace(wanted, after=after), most=most)
    return list(map(host_row, rows)), following


@listed(
    hosts,
    "",
    FoundList(HostSummaryOut),
    summary="List hosts by name",
    usual=HOSTS,
    longest_key=260,
)
@may_view
def list_hosts(request: AuthenticatedRequest, q: Text = "", state: State = "") -> partial[Any]:
    """`q` is a part of the name; `state` selects those with a running fetch, with errors, or
    blocked for all crawls.
    """
    return partial(_find, HostFilter(q.strip(), state))


@hosts.get("/{host_id}", response=HostDetailOut, summary="Get a host with its crawls")
@may_view
def get_host(request: AuthenticatedRequest, host_id: HostId) -> dict[str, Any]:
    return _host_json(_host(host_id))


@hosts.put(
    "/{host_id}/block",
    response=HostDetailOut,
    summary="Block a host for all crawls; running crawls follow within seconds",
)
@may_block
def set_host_block(
    request: AuthenticatedRequest, host_id: HostId, asked: Annotated[BlockReasonIn, Body()]
) -> dict[str, Any]:
    block_host(_host(host_id), asked.reason, by=request.user)
    return _host_json(_host(host_id))


@hosts.delete("/{host_id}/block", response={204: None}, summary="Unblock a host")
@may_unblock
def delete_host_block(request: AuthenticatedRequest, host_id: HostId) -> Status:
    """Other entries of the blocklist may still cover it."""
    unblock_host(_host(host_id), by=request.user)
    return Status(204, None)


@search.get(
    "",
    response=FoundPageList,
    summary=f"The latest {PAGES} pages that hold a text in address or title",
)
@may_view
def search_pages(request: AuthenticatedRequest, q: Wanted) -> dict[str, Any]:
    found = listing.search_pages(q)
    return {"items": [row_of(FoundPage, page) for page in found.pages], "is_more": found.is_more}


def _host(host_id: int) -> Host:
    return get_object_or_404(Host.objects.select_related("shift__process__run__crawl"), pk=host_id)


def _host_json(host: Host) -> dict[str, Any]:
    visitors = [row_of(VisitorRow, one) for one in visitors_of(host)]
    return {**host_row(summarize_hosts([host])[0]), "visitors": visitors}


class NameWaitOut(Schema):
    host: str
    name: str = Field(description="what DNS is asked for; empty: no look-up is needed")
    sentences: list[str] = Field(description="sentences about the name; the first is the answer")
    crawls: list[int] = Field(description="running crawls with URLs queued there")


@waits.get("/{host_id}/name-wait", response=NameWaitOut, summary="Explain the DNS wait of a host")
@may_look
def get_host_name_wait(request: AuthenticatedRequest, host_id: HostId) -> dict[str, Any]:
    found = why_waits(get_object_or_404(Host, pk=host_id).name)
    crawls = sorted({queue.run.crawl_id for queue in found.queues})
    return {"host": found.host, "name": found.name, "sentences": found.sentences, "crawls": crawls}
