"""`/api/dns` beside the answers themselves: figures, hard names, trees, evictions, and what operators do."""

# No postponed annotations here: ninja reads them, and could not resolve names behind Django's decorator.

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Path, Query, Router, Schema, Status
from pydantic import Field

from dnscache import selectors, services
from dnscache.api import TEXT, Asking, EntryStatus, Name, needs
from dnscache.audit import log
from dnscache.models import DnsDropped
from dnscache.names import read_host

reports = Router()
ENTRY_FIELDS = ("name", "status", "resolve_ms", "fails", "retry_at", "weight", "error")
ROW_FIELDS = ("reason", "tries_left", "is_pinned")


class Minute(Schema):
    """How names were come by in a minute; `waits` by the classes 1, 10, 30, 100, 300, 1000, 3000 ms and longer."""

    minute: datetime
    memory: int
    database: int
    lookup: int
    stale: int
    waited_seconds: float
    waits: list[int]
    asked: int
    failed: int
    cut: int


class Lanes(Schema):
    """A process that resolves ahead, as of its last beat."""

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


class Stats(Schema):
    """The last hour. A percentile of null is longer than three seconds."""

    used: int
    shares: dict[str, float]
    wait_ms: dict[str, float | None]
    threads_waiting: float
    threads_saved: float
    asked: int
    failed: int
    cut: int
    regions: list[dict[str, int | str]]
    upstreams: list[dict[str, float | str]]
    pre_resolvers: list[Lanes]
    minutes: list[Minute]


class HardName(Schema):
    """A row of the conflict area."""

    name: str
    status: str
    reason: str
    resolve_ms: int
    fails: int
    tries_left: int
    retry_at: datetime | None
    weight: float
    is_pinned: bool
    error: str


class HardPage(Schema):
    items: list[HardName]
    next: int | None


class Leaf(Schema):
    name: str
    addresses: list[str]
    status: str
    region: int
    expires_at: datetime
    last_access: datetime | None


class Branch(Schema):
    """A second-level name, or the registered one, with the third-level names below it; `entry` is null if only those are known."""

    name: str
    entry: Leaf | None
    below: list[Leaf]


class Evicted(Schema):
    at: datetime
    name: str
    region: int
    weight: float
    why: str


class Flush(Schema):
    """What to forget: `all`, `reverse`, or `domain` with the registered name in `value`."""

    model_config = {"json_schema_extra": {"examples": [{"scope": "domain", "value": "example.org"}]}, "extra": "forbid"}

    scope: Literal["all", "reverse", "domain"]
    value: Annotated[str, Field(max_length=253, pattern=TEXT)] = ""


class Flushed(Schema):
    names: int


@reports.get("/stats", response=Stats, summary="How names were come by in the last hour, and how things stand")
@needs("dnscache.view_dnsentry")
def stats(request: Asking) -> selectors.Overview:
    return selectors.overview()


@reports.get("/hard", response=HardPage, summary="The conflict area: names that failed or are slow, the heaviest first")
@needs("dnscache.view_dnsentry")
def hard(
    request: Asking,
    status: EntryStatus = "",
    q: Annotated[str, Query(max_length=200, pattern=TEXT, description="a part of the name")] = "",
    cursor: Annotated[int, Query(ge=0, le=1_000_000, description="`next` of the page before")] = 0,
    limit: Annotated[int, Query(ge=1, le=200, description="rows a page")] = 50,
) -> dict[str, Any]:
    rows = selectors.hard_names(status=status, text=q, offset=cursor, most=limit + 1)
    items = [{**{key: getattr(row.entry, key) for key in ENTRY_FIELDS}, **{key: getattr(row, key) for key in ROW_FIELDS}} for row in rows]
    return {"items": items[:limit], "next": cursor + limit if len(rows) > limit else None}


@reports.get("/tree/{name}", response=list[Branch], summary="The names of a registered name, by their levels")
@needs("dnscache.view_dnsentry")
def tree(request: Asking, name: Name) -> list[selectors.Branch]:
    return selectors.tree_of(read_host(name).text)


@reports.get("/evictions", response=list[Evicted], summary="The latest answers that left before their time")
@needs("dnscache.view_dnsentry")
def evictions(request: Asking) -> list[DnsDropped]:
    return list(DnsDropped.objects.order_by("-pk")[:200])


@reports.post("/flush", response=Flushed, summary="Forget a domain, all hard names, or everything")
@needs("dnscache.delete_dnsentry")
def flush(request: Asking, order: Flush) -> dict[str, int]:
    names = services.flush_scope(order.scope, order.value)
    log(request.user, [order.value or order.scope], "flush")
    return {"names": names}


@reports.post("/{name}/{deed}", response={204: None}, summary="Retry a name now, keep it fresh (pin), or let it expire (unpin)")
@needs("dnscache.change_dnsentry")
def act(request: Asking, name: Name, deed: Annotated[Literal["retry", "pin", "unpin"], Path(description="what to do")]) -> Status:
    host = services.act_on(name, deed)
    log(request.user, [host], deed)
    return Status(204, None)
