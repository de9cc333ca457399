"""`/api/v1/dns/…`: figures, failing names, trees, evictions and flushes."""

# Annotations are not postponed here: ninja reads them, and could not resolve names behind Django's
# decorator.

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from ninja import Path, Query, Router
from pydantic import Field

from dnscache import selectors, services
from dnscache.api import TEXT, EntryStatus, Name
from dnscache.models import DnsDropped
from dnscache.protocol.names import read_host
from dnscache.records import MOST_PER_SECOND
from dnscache.services import log_action
from serving.access import AuthenticatedRequest, needs
from serving.listing.columns import Column, row_of
from serving.listing.endpoint import listed
from serving.listing.sources import FoundList
from serving.paging import cut_to_limit
from serving.schemas import Schema

reports = Router()
Machine = Annotated[
    str,
    Query(max_length=253, pattern=TEXT, description="machine of the cache; default: the first"),
]


class DnsMinuteOut(Schema):
    """Sources of names in a minute; `waits` by the classes 1, 10, 30, 100, 300, 1000, 3000 ms
    and longer.
    """

    minute: datetime
    memory: int
    database: int
    lookup: int
    stale: int
    waited_seconds: float
    waits: list[int]
    asked: int
    answered: int
    failed: int
    cut: int


class PreResolverOut(Schema):
    """A pre-resolver process, as of its last beat."""

    machine: str
    beat_at: datetime
    slots: int
    main_threads: int
    main_depth: int
    slow_threads: int
    slow_depth: int
    names: int
    threads_saved: float
    counts: dict[str, int]


class NameServerOut(Schema):
    """A name server in the last hour. `per_second` is its limit, in look-ups a second of all
    processes together; `most_per_second` what its busiest minute had. Of `asked`, which counts
    look-ups and further tries, `failed` had an error and `silent` no answer in time.
    """

    server: str
    per_second: int
    asked: int
    answered: int
    failed: int
    silent: int
    over_tcp: int
    mean_ms: float | None
    longest_ms: int | None
    most_per_second: float


class NameServerList(Schema):
    items: list[NameServerOut]


class LimitIn(Schema):
    model_config = {
        "json_schema_extra": {"examples": [{"per_second": 100}]},
        "extra": "forbid",
    }

    per_second: Annotated[int, Field(ge=1, le=MOST_PER_SECOND, strict=True)]


class DnsStatsOut(Schema):
    """The last hour. A percentile of null is longer than three seconds.

    `hosts_waiting`: how many hosts waited for their names at a time, on average; `shares.lookup`:
    of all names used, those waited for. `is_silent`: name servers were asked in the last two
    minutes, and none has answered.
    """

    used: int
    shares: dict[str, float]
    wait_ms: dict[str, float | None]
    hosts_waiting: float
    threads_saved: float
    asked: int
    answered: int
    failed: int
    cut: int
    is_silent: bool
    regions: list[dict[str, int | str]]
    servers: list[NameServerOut]
    pre_resolvers: list[PreResolverOut]
    minutes: list[DnsMinuteOut]


@dataclass(frozen=True)
class FailingName:
    """A name that failed or is slow."""

    name: Annotated[str, Column(of="entry.name")]
    status: Annotated[str, Column(of="entry.status")]
    reason: str
    resolve_ms: Annotated[int, Column(of="entry.resolve_ms")]
    fails: Annotated[int, Column(of="entry.fails")]
    tries_left: int
    retry_at: Annotated[datetime | None, Column(of="entry.retry_at")]
    weight: Annotated[float, Column(of="entry.weight")]
    is_pinned: bool
    error: Annotated[str, Column(of="entry.error")]


def _failing_names(*, most: int, **wanted: Any) -> tuple[list[FailingName], str | None]:
    rows = selectors.failing_names(**wanted, most=most + 1)
    return cut_to_limit([row_of(FailingName, row) for row in rows], most, lambda row: row.name)


class NameLeafOut(Schema):
    name: str
    addresses: list[str]
    status: str
    ttl: int
    expires_at: datetime
    last_access: datetime


class NameBranchOut(Schema):
    """A second-level name, or the registered one, with the third-level names below it; `entry` is
    null if the name itself has no answer.
    """

    name: str
    entry: NameLeafOut | None
    below: list[NameLeafOut]


class CacheViewOut(Schema):
    """The cache of one machine; `machine` is null while no pre-resolver is running, and then
    nothing is listed.
    """

    machine: str | None
    machines: list[str]


class DomainTreeOut(CacheViewOut):
    """The tree of a registered name in the positive region, its failing or slow names in the
    negative region, and how many names of a large domain are not listed.
    """

    branches: list[NameBranchOut]
    reverse: list[NameLeafOut]
    not_shown: int


class EvictedOut(Schema):
    at: datetime
    name: str
    region: int
    weight: float
    why: str


class EvictionList(Schema):
    items: list[EvictedOut]


class FlushIn(Schema):
    """Names to flush: `all`, `reverse`, or `domain` with the registered domain in `value`."""

    model_config = {
        "json_schema_extra": {"examples": [{"scope": "domain", "value": "example.org"}]},
        "extra": "forbid",
    }

    scope: Literal["all", "reverse", "domain"]
    value: Annotated[str, Field(max_length=253, pattern=TEXT)] = ""


class FlushedOut(Schema):
    names: int


class DomainPage(CacheViewOut):
    """`packed`: answers of earlier processes that are not in the tables yet."""

    packed: int
    items: list[selectors.DomainCount]
    next: str | None


@reports.get(
    "/stats",
    response=DnsStatsOut,
    summary="Get figures of the DNS cache in the last hour",
)
@needs("dnscache.view_dnsentry")
def get_dns_stats(request: AuthenticatedRequest) -> selectors.CacheOverview:
    return selectors.cache_overview()


@listed(
    reports,
    "/failing-names",
    FoundList(FailingName),
    summary="List failing or slow names, costliest first",
    longest_key=253,
)
@needs("dnscache.view_dnsentry")
def list_failing_names(
    request: AuthenticatedRequest,
    status: EntryStatus = "",
    q: Annotated[str, Query(max_length=200, pattern=TEXT, description="a part of the name")] = "",
    sort: Annotated[
        Literal["weight", "name", "look_up", "fails", "retry"],
        Query(description="order: by number, or by name"),
    ] = "weight",
) -> partial[Any]:
    return partial(_failing_names, status=status, text=q, sort=sort)


@reports.get(
    "/domains",
    response=DomainPage,
    summary="List registered domains of a pre-resolver's cache by name",
)
@needs("dnscache.view_dnsentry")
def list_dns_domains(
    request: AuthenticatedRequest,
    q: Annotated[
        str, Query(max_length=200, pattern=TEXT, description="a part of the registered domain")
    ] = "",
    machine: Machine = "",
    cursor: Annotated[
        str, Query(max_length=253, pattern=TEXT, description="`next` of the previous page")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=200, description="rows per page")] = 50,
) -> dict[str, Any]:
    found = selectors.registered_names(text=q, after=cursor, most=limit + 1, machine=machine)
    items, following = cut_to_limit(found.domains, limit, lambda domain: domain.registrable)
    return {
        "machine": found.machine,
        "machines": found.machines,
        "packed": found.packed,
        "items": items,
        "next": following,
    }


@reports.get(
    "/domains/{name}",
    response=DomainTreeOut,
    summary="Get the tree of a registered domain in a pre-resolver's cache, by levels",
)
@needs("dnscache.view_dnsentry")
def get_dns_domain(
    request: AuthenticatedRequest, name: Name, machine: Machine = ""
) -> selectors.DomainTree:
    return selectors.domain_tree(read_host(name).text, machine=machine)


@reports.get(
    "/servers",
    response=NameServerList,
    summary="List name servers with their limits and look-ups in the last hour",
)
@needs("dnscache.view_dnsentry")
def list_name_servers(request: AuthenticatedRequest) -> dict[str, Any]:
    return {"items": selectors.name_servers()}


@reports.patch(
    "/servers/{name}",
    response=NameServerOut,
    summary="Set the limit of a name server",
)
@needs("dnscache.change_dnsserver")
def update_name_server(
    request: AuthenticatedRequest,
    name: Annotated[str, Path(max_length=64, description="as listed", examples=["192.0.2.53:53"])],
    limit: LimitIn,
) -> selectors.ServerFigures:
    services.set_limit(name, limit.per_second)
    log_action(request.user, [name], f"limit of {limit.per_second} look-ups a second")
    return next(one for one in selectors.name_servers() if one.server == name)


@reports.get(
    "/evictions",
    response=EvictionList,
    summary="List the latest evictions",
)
@needs("dnscache.view_dnsentry")
def list_dns_evictions(request: AuthenticatedRequest) -> dict[str, Any]:
    return {"items": list(DnsDropped.objects.order_by("-pk")[:200])}


@reports.post(
    "/flush",
    response=FlushedOut,
    summary="Flush a domain, all failing or slow names, or everything",
)
@needs("dnscache.delete_dnsentry")
def flush_dns(request: AuthenticatedRequest, order: FlushIn) -> dict[str, int]:
    names = services.flush_scope(order.scope, order.value)
    log_action(request.user, [order.value or order.scope], "flush")
    return {"names": names}
