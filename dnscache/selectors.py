"""Reads of the cache for pages and programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from django.db.models import Count, Max, Min, Q, Sum
from django.db.models.functions import Now
from django.utils import timezone

from dnscache.cache_reads import query_caches
from dnscache.lookup import configured_servers, server_text
from dnscache.models import (
    DnsEntry,
    DnsMinute,
    DnsPin,
    DnsPreResolver,
    DnsServer,
    DnsServerMinute,
)
from dnscache.preresolver.preresolver import live_pre_resolvers
from dnscache.protocol.answers import MOST_TRIES, DnsStatus
from dnscache.records import DEFAULT_PER_SECOND, WAITS
from dnscache.regions.entry import Region
from dnscache.regions.reverse import REASONS, failure_reason
from serving.listing.columns import Column

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
SOURCES = ("memory", "database", "lookup")
SERVER_SUMS = ("asked", "answered", "failed", "silent", "over_tcp")
#: the number of look-ups without an answer; fewer show nothing about name servers
DEAD_BY_THEMSELVES = 3


@dataclass(frozen=True)
class ServerFigures:
    server: str
    #: its limit
    per_second: int
    #: the number of look-ups and further tries
    asked: int
    answered: int
    failed: int
    silent: int
    over_tcp: int
    #: the mean time of the answers in ms; None if there was no answer
    mean_ms: float | None
    longest_ms: int | None
    #: the rate in the server's busiest minute
    most_per_second: float


@dataclass(frozen=True)
class CacheOverview:
    minutes: list[DnsMinute]
    used: int
    shares: dict[str, float]
    wait_ms: dict[str, float | None]
    #: the mean number of hosts that waited for their names at the same time. Waits are counted as
    #: the upper bounds of their classes; None if a wait is in the last class
    hosts_waiting: float
    #: the sum of the weights of fresh answers: the fetch threads that the cache saves now
    threads_saved: float
    asked: int
    answered: int
    failed: int
    cut: int
    is_silent: bool
    regions: Sequence[Mapping[str, Any]]
    servers: list[ServerFigures]
    pre_resolvers: list[DnsPreResolver]


def cache_overview() -> CacheOverview:
    minutes = list(DnsMinute.objects.filter(minute__gt=Now() - HOUR).order_by("minute"))
    sums = {
        key: sum(getattr(minute, key) for minute in minutes)
        for key in (*SOURCES, "stale", "asked", "answered", "failed", "cut")
    }
    used, waited = (
        sum(sums[source] for source in SOURCES),
        sum(minute.waited_seconds for minute in minutes),
    )
    waits = [sum(column) for column in zip(*(minute.waits for minute in minutes), strict=True)]
    return CacheOverview(
        minutes=minutes,
        used=used,
        shares={key: sums[key] / used if used else 0.0 for key in (*SOURCES, "stale")},
        wait_ms={
            "mean": 1000 * waited / used if used else 0.0,
            **{f"p{p}": _wait_percentile(waits, p / 100) for p in (50, 95, 99)},
        },
        hosts_waiting=waited / _counted_seconds(),
        threads_saved=DnsEntry.objects.filter(expires_at__gt=Now()).aggregate(
            sum=Sum("weight", default=0.0)
        )["sum"],
        asked=sums["asked"],
        answered=sums["answered"],
        failed=sums["failed"],
        cut=sums["cut"],
        is_silent=_are_silent(minutes),
        regions=_typed_rows(
            DnsEntry.objects.order_by("region", "status")
            .values("region", "status")
            .annotate(names=Count("pk"))
        ),
        servers=name_servers(),
        pre_resolvers=list(live_pre_resolvers().order_by("machine")),
    )


def are_servers_silent() -> bool:
    """Whether name servers were asked in the last two minutes, and none has answered."""
    return _are_silent(list(DnsMinute.objects.filter(minute__gt=Now() - 2 * MINUTE)))


def _are_silent(minutes: Sequence[DnsMinute]) -> bool:
    recent = [minute for minute in minutes if timezone.now() - minute.minute < 2 * MINUTE]
    return sum(minute.failed + minute.cut for minute in recent) > DEAD_BY_THEMSELVES and not any(
        minute.answered for minute in recent
    )


def _counted_seconds() -> float:
    """The seconds of the last hour, idle minutes included; fewer in a younger installation."""
    first = DnsMinute.objects.aggregate(first=Min("minute"))["first"]
    return (
        min(HOUR, max(timezone.now() - first, MINUTE)).total_seconds()
        if first
        else HOUR.total_seconds()
    )


def name_servers() -> list[ServerFigures]:
    """The name servers that are configured or were asked in the last hour, with their limits and
    their questions in that hour.
    """
    figures = {
        row["server"]: row
        for row in DnsServerMinute.objects.filter(minute__gt=Now() - HOUR)
        .order_by()
        .values("server")
        .annotate(
            **{f"sum_{key}": Sum(key) for key in SERVER_SUMS},
            took=Sum("milliseconds"),
            longest=Max("longest_ms"),
            busiest=Max("asked"),
        )
    }
    limits = dict(DnsServer.objects.values_list("server", "per_second"))
    configured = [server_text(server) for server in configured_servers()]
    return [
        _server_figures(server, limits.get(server, DEFAULT_PER_SECOND), figures.get(server, {}))
        for server in dict.fromkeys([*configured, *sorted(figures)])
    ]


def _server_figures(server: str, per_second: int, row: Mapping[str, Any]) -> ServerFigures:
    counts = {key: row.get(f"sum_{key}", 0) for key in SERVER_SUMS}
    answered = counts["answered"]
    return ServerFigures(
        server,
        per_second,
        **counts,
        mean_ms=row["took"] / answered if answered else None,
        longest_ms=row["longest"] if answered else None,
        most_per_second=row.get("busiest", 0) / 60,
    )


def _typed_rows(found: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return list(found)


def _wait_percentile(waits: Sequence[int], share: float) -> float | None:
    """Return the upper bound, in ms, of the class of a wait; None for the last class."""
    left = share * sum(waits)
    for count, end in zip(waits, WAITS, strict=False):
        left -= count
        if left <= 0:
            return 1000 * end
    return None if waits else 0.0


@dataclass(frozen=True)
class ConflictName:
    """A row of the conflict area: a name that failed or is slow, with the reason and the next
    step.
    """

    entry: DnsEntry
    reason: str
    is_pinned: bool

    @property
    def rests_until(self) -> datetime | None:
        """The time before which there is no new look-up; None if the next caller looks it up."""
        until = self.entry.retry_at or self.entry.expires_at
        return until if until > timezone.now() else None

    @property
    def tries_left(self) -> int:
        """The number of look-ups that may still fail before the name is given up."""
        return max(0, MOST_TRIES - self.entry.fails)


#: the sort orders of the rows: the largest first, but names alphabetically and the soonest next
#: look-up first
SORTS = {
    "weight": "-weight",
    "name": "name",
    "look_up": "-resolve_ms",
    "fails": "-fails",
    "retry": "retry_at",
}


def failing_names(
    *, status: str = "", text: str = "", sort: str = "weight", after: str = "", most: int = 100
) -> list[ConflictName]:
    """The names of the negative region. The order of the conflict area itself is that of weight:
    the fetch threads that its rows cost or save.

    after: the last name of the previous page; the next page begins after this name's present place.
    """
    found = DnsEntry.objects.filter(region=Region.REVERSE, name__contains=text).order_by(
        SORTS[sort], "name"
    )
    if status:
        found = found.filter(status=status)
    if after and (last := DnsEntry.objects.filter(name=after).first()):
        found = found.filter(_condition_after(last, sort))
    rows = list(found[:most])
    pinned = pinned_names([row.name for row in rows])
    return [
        ConflictName(row, failure_reason(DnsStatus(row.status), row.fails), row.name in pinned)
        for row in rows
    ]


def _condition_after(last: DnsEntry, sort: str) -> Q:
    """The names after the given one in an order of SORTS; equal ones are in alphabetical order."""
    column, is_falling = SORTS[sort].removeprefix("-"), SORTS[sort].startswith("-")
    value = getattr(last, column)
    is_level = Q(**{column: value}) & Q(name__gt=last.name)
    # names that are never looked up again by themselves come last, as in PostgreSQL
    if value is None:
        return is_level
    return (
        is_level | Q(**{f"{column}__{'lt' if is_falling else 'gt'}": value}) | Q(**{column: None})
    )


def failing_counts() -> dict[str, int]:
    """Return the number of names in the negative region, by status."""
    return dict(
        DnsEntry.objects.filter(region=Region.REVERSE)
        .order_by("status")
        .values_list("status")
        .annotate(Count("pk"))
    )


def pinned_names(among: Sequence[str] | None = None) -> set[str]:
    pins = DnsPin.objects.all() if among is None else DnsPin.objects.filter(name__in=among)
    return set(pins.values_list("name", flat=True))


@dataclass(frozen=True)
class CacheView:
    #: the machine of the pre-resolver; None if none is running
    machine: str | None
    #: the machines of all live caches
    machines: list[str]


@dataclass(frozen=True)
class DomainCount:
    """A registered name, with the number of names in its tree."""

    registrable: str
    names: Annotated[int, Column("with an answer in the positive region")]


@dataclass(frozen=True)
class DomainList(CacheView):
    """Registered names from table 1 of a live cache (`ForwardRegion`)."""

    #: the number of answers of earlier processes that are not in the tables yet
    packed: int
    domains: list[DomainCount]


@dataclass(frozen=True)
class NameLeaf:
    name: str
    status: str
    addresses: list[str]
    ttl: int
    expires_at: datetime
    last_access: datetime

    @property
    def ttl_left_percent(self) -> int:
        """The rest of the answer's TTL, in percent."""
        left = (self.expires_at - timezone.now()).total_seconds()
        return max(0, min(100, round(100 * left / self.ttl))) if self.ttl else 0

    @property
    def reason(self) -> str:
        return REASONS[DnsStatus(self.status)]


@dataclass(frozen=True)
class NameBranch:
    """A name one label below a registered name, or the registered name itself, with the names below
    it.
    """

    name: str
    #: None if only the names below are known
    entry: NameLeaf | None
    below: list[NameLeaf]


@dataclass(frozen=True)
class DomainTree(CacheView):
    """The tree of a registered name, and its names in the conflict area."""

    branches: list[NameBranch]
    reverse: list[NameLeaf]
    not_shown: int


def registered_names(
    *, text: str = "", after: str = "", most: int = 100, machine: str = ""
) -> DomainList:
    """Return registered names from table 1 of a live cache, with the number of names in each
    tree.
    """
    told, machines = _answer_of_machine(query_caches(text=text, after=after, most=most), machine)
    if told is None:
        return DomainList(None, machines, 0, [])
    found = [DomainCount(*row) for row in told["domains"]]
    return DomainList(told["machine"], machines, told["packed"], found)


def domain_tree(registrable: str, *, machine: str = "") -> DomainTree:
    """Return the tree of a registered name from a live cache: the second level, and the third below
    it.
    """
    told, machines = _answer_of_machine(query_caches(domain=registrable), machine)
    if told is None:
        return DomainTree(None, machines, [], [], 0)
    branches = [
        NameBranch(
            one["name"], one["entry"] and _name_leaf(one["entry"]), [*map(_name_leaf, one["below"])]
        )
        for one in told["branches"]
    ]
    reverse = [_name_leaf(one) for one in told["reverse"]]
    return DomainTree(told["machine"], machines, branches, reverse, told["not_shown"])


def _answer_of_machine(
    told: list[dict[str, Any]], machine: str
) -> tuple[dict[str, Any] | None, list[str]]:
    """The answer of the requested machine, or of the first if none is requested, and the names of
    all machines.
    """
    machines = [one["machine"] for one in told]
    chosen = [one for one in told if one["machine"] == machine] or told
    return (chosen[0] if chosen else None), machines


def _name_leaf(told: dict[str, Any]) -> NameLeaf:
    times = {key: datetime.fromtimestamp(told[key], UTC) for key in ("expires_at", "last_access")}
    return NameLeaf(**{**told, **times})
