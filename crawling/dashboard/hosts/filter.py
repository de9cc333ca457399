"""The filter of hosts, for their list, its counts, and its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import CharField, Func, Q, QuerySet, Value

from crawling.models import BlocklistEntry, Host, RobotsFile
from crawling.orders.scope.blocklist import BlocklistKind
from dnscache.models import DnsEntry
from serving.paging import bounded_count
from serving.requests import asked_text

LONGEST = 260
FETCHED_FROM, TROUBLED, BLOCKED = STATES = ("fetched", "troubled", "blocked")
WORDS: Mapping[str, str] = {
    "": "all",
    FETCHED_FROM: "fetching",
    TROUBLED: "with errors",
    BLOCKED: "blocked",
}


@dataclass(frozen=True)
class HostFilter:
    #: a part of the host's name
    text: str = ""
    #: one of STATES; empty for any
    state: str = ""
    #: the name of the last host on the previous page
    after: str = ""

    @classmethod
    def read(cls, query: Any) -> HostFilter:
        """The filter that a URL's query asks for. Invalid values are ignored."""
        text, state, after = (
            asked_text(query, name, most=LONGEST) for name in ("q", "state", "after")
        )
        return cls(text, state if state in STATES else "", after)

    def __bool__(self) -> bool:
        return bool(self.text or self.state)

    def found(self) -> QuerySet[Host]:
        """The found hosts, in no order."""
        hosts = Host.objects.all()
        if self.text:
            hosts = hosts.filter(name__contains=self.text.lower())
        if self.state:
            hosts = hosts.filter(state_condition(self.state))
        return hosts.filter(name__gt=self.after) if self.after else hosts


def host_counts(wanted: HostFilter) -> dict[str, int]:
    """The number of hosts in each state ("" for all) that match the filter's text; a BoundedCount
    if there are very many.
    """
    every = replace(wanted, after="")
    return {state: bounded_count(replace(every, state=state).found()) for state in WORDS}


def state_condition(state: str) -> Q:
    """The condition that a host is in one of STATES. It uses lists of names, which PostgreSQL reads
    once, and not a subquery for each host.
    """
    if state == FETCHED_FROM:
        return Q(shift__isnull=False, shift__ended_at=None)
    if state == TROUBLED:
        return Q(
            dns_name__in=DnsEntry.objects.exclude(status=DnsEntry.Status.OK).values("name")
        ) | Q(name__in=_without_robots())
    return Q(name__in=host_blocklist_entries().values("text"))


def host_blocklist_entries() -> QuerySet[BlocklistEntry]:
    return BlocklistEntry.objects.filter(kind=BlocklistKind.HOST, removed_at=None)


def _without_robots() -> QuerySet[Any]:
    """The hosts whose robots.txt could not be fetched, so that nothing may be fetched from them."""
    name = Func("origin", Value("://"), Value(2), function="split_part", output_field=CharField())
    return RobotsFile.objects.filter(Q(status__lt=0) | Q(status__gte=500)).values_list(name)
