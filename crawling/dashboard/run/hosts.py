"""A run's hosts: the number of waiting and done URLs of each, and the reason why the next fetch has
to wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Concat
from django.utils import timezone

from crawling.dashboard.base.crawl_views import prefetched_shifts
from crawling.frontier.waiting_names import hosts_held_at_gate
from crawling.models import HostQueue, RobotsFile, Run, Shift, Url
from crawling.models.jobs import ENDED_STATES, WORKING_STATES
from crawling.orders.scope.scope import Reach
from crawling.web.outages import Outage, outage_waited_for, read_outage, read_outages
from crawling.web.statuses import status_sentence
from serving.paging import cut_to_limit

SOME = 20
SORTS = {"host": "host__name", "queued": "queued", "done": "done", "found": "pk"}
MOST_TO_DO, FOUND_FIRST = "-queued", "found"
#: the fields that are read of a row: a third of the columns, for up to 200 queues
READ = (
    *("run", "process_number", "queued", "done", "due_at", "outage", "origin_outages"),
    *("host__name", "host__delay_seconds", "host__due_at", "host__lease_until", "host__shift"),
)
#: the fields that are read of a host's robots.txt, by the name of the annotation
ROBOTS = {"robots_status": "status", "robots_until": "expires_at"}


class HostScope(StrEnum):
    #: the hosts in the run's scope
    OF_CRAWL = "crawl"
    #: the other hosts: links to them were checked, they have files of pages, or pages a few links
    #: outside
    OTHER = "other"
    ALL = "all"


class ScopeCounts(NamedTuple):
    of_crawl: int
    other: int


@dataclass(frozen=True)
class HostRow:
    """A host of a run, as pages, JSON and diagnostics show it."""

    name: str
    #: the number of the run's process that serves the host
    process: int
    queued: int
    done: int
    #: when the next fetch may begin; None if no URL waits or the run has ended
    due_at: datetime | None
    delay_seconds: float
    #: the delay of the order; the host's is longer if its robots.txt, its slowness or another crawl
    #: requires that
    ordered_delay_seconds: float
    #: the crawl with a running fetch; empty if there is none
    leased_by: str
    is_leased_here: bool
    robots: str
    #: whether the host waits until its name is settled
    is_at_gate: bool
    #: the reason why nothing can be fetched from the host, as a sentence
    outage: str
    #: whether the run is paused or waits, so that nothing is fetched even if the host is due
    is_resting: bool

    @property
    def due_in(self) -> float | None:
        """Seconds until the next fetch may begin (0 if it may begin now)."""
        if self.due_at is None:
            return None
        return max(0.0, (self.due_at - timezone.now()).total_seconds())


def has_others(run: Run) -> bool:
    """Whether the order lets the run ask hosts outside of its scope."""
    filters = run.crawl.order.filters
    leaves = filters.check_external or filters.off_site_hops or run.crawl.requisites
    return bool(leaves) and run.crawl.scope != Reach.ANYWHERE


def _in_scope(run: Run) -> Q:
    """The queues of hosts in the scope of a run: the hosts of its seeds and of their redirect
    targets, and in a scope of domains all hosts of these domains.
    """
    seeds = Url.objects.filter(run=run, depth=0).values("queue")
    found = Q(pk__in=seeds)
    if run.crawl.scope == Reach.DOMAIN:
        with_domain = HostQueue.objects.filter(run=run, pk__in=seeds).exclude(domain="")
        found |= Q(domain__in=with_domain.values("domain"))
    return found


def host_counts(run: Run) -> ScopeCounts:
    counts = run.queues.aggregate(own=Count("pk", filter=_in_scope(run)), every=Count("pk"))
    return ScopeCounts(counts["own"], counts["every"] - counts["own"])


def hosts_of(
    run: Run, *, text: str = "", sort: str = MOST_TO_DO, which: HostScope = HostScope.ALL
) -> QuerySet[HostQueue]:
    """The run's host queues whose host's name contains `text`, by one of SORTS; with `-` in front
    of it, in descending order.
    """
    queues = run.queues.select_related("host").only(*READ)
    queues = queues.prefetch_related(prefetched_shifts("host__shift"))
    if which is not HostScope.ALL:
        own = _in_scope(run)
        queues = queues.filter(own if which is HostScope.OF_CRAWL else ~own)
    queues = queues.annotate(**{name: _robots_field(field) for name, field in ROBOTS.items()})
    if text:
        queues = queues.filter(host__name__contains=text.lower())  # names are in lower case
    key, sign = sort.removeprefix("-"), "-" if sort.startswith("-") else ""
    return queues.order_by(sign + SORTS[key], "-done", "pk")


def _robots_field(field: str) -> Subquery:
    """A field of the latest robots.txt of a queue's host."""
    name = OuterRef("host__name")
    origins = [Concat(Value(f"{scheme}://"), name) for scheme in ("http", "https")]
    files = RobotsFile.objects.filter(origin__in=origins).order_by("-fetched_at")
    return Subquery(files.values(field)[:1])


def first_hosts(run: Run, most: int) -> list[HostQueue]:
    """The hosts with the most waiting URLs.

    Their ids are read first, so that the sorted rows are short.
    """
    ids = run.queues.order_by(MOST_TO_DO, "-done", "pk").values_list("pk", flat=True)[:most]
    return list(hosts_of(run).filter(pk__in=ids))


def hosts_page(
    run: Run,
    *,
    text: str,
    sort: str,
    after: int | None,
    most: int,
    which: HostScope = HostScope.ALL,
) -> tuple[list[HostQueue], int | None]:
    """Up to `most` of these host queues, from the current place of the queue with the id `after`
    on, and the id to continue after. Ids are read first, as above.

    Without a sort key, the id alone shows where to continue, so the queue with this id need not
    exist.
    """
    queues = hosts_of(run, text=text, sort=sort, which=which)
    if after is not None:
        queues = queues.filter(_rows_after(run, after, sort))
    ids, following = cut_to_limit(list(queues.values_list("pk", flat=True)[: most + 1]), most, int)
    return list(hosts_of(run, sort=sort).filter(pk__in=ids)), following


def _rows_after(run: Run, after: int, sort: str) -> Q:
    """The rows after a given one, in the order of `hosts_of`: by the sort key, then by done URLs,
    then by first discovery.
    """
    if sort == FOUND_FIRST:
        return Q(pk__gt=after)
    last = run.queues.select_related("host").filter(pk=after).first()
    if last is None:
        return Q()
    key = SORTS[sort.removeprefix("-")]
    value = last.host.name if key == "host__name" else getattr(last, key)
    next_value = Q(**{f"{key}__{'lt' if sort.startswith('-') else 'gt'}": value})
    return next_value | Q(**{key: value}) & (
        Q(done__lt=last.done) | Q(done=last.done, pk__gt=last.pk)
    )


def host_rows(
    run: Run, queues: Sequence[HostQueue], *, is_fetching: bool | None = None
) -> list[HostRow]:
    """The rows of host queues. queues: from `hosts_of`. is_fetching: whether the run has a live
    shift, if the caller has read that already.
    """
    held = (
        hosts_held_at_gate([queue.host_id for queue in queues if queue.queued])
        if run.state in WORKING_STATES
        else set()
    )
    if is_fetching is None:
        is_fetching = Shift.objects.filter(process__run=run, ended_at=None).exists()
    # a run without a shift fetches nothing from a host, even if the host is due
    is_resting = run.state not in ENDED_STATES and not is_fetching
    return [
        _row(
            run,
            queue,
            robots=_robots_in_words(*(vars(queue)[name] for name in ROBOTS)),
            is_at_gate=queue.host_id in held,
            is_resting=is_resting,
        )
        for queue in queues
    ]


def _row(run: Run, queue: HostQueue, *, robots: str, is_at_gate: bool, is_resting: bool) -> HostRow:
    host = queue.host
    shift = host.shift if host.shift and host.shift.ended_at is None else None
    is_due = queue.queued and run.state not in ENDED_STATES
    outage = _outage_of(queue) if is_due else None
    return HostRow(
        name=host.name,
        process=queue.process_number,
        queued=queue.queued,
        done=queue.done,
        due_at=_next_fetch_at(queue) if is_due else None,
        delay_seconds=max(host.delay_seconds, run.crawl.delay_seconds),
        ordered_delay_seconds=run.crawl.delay_seconds,
        leased_by=shift.process.run.crawl.name if shift else "",
        is_leased_here=bool(shift and shift.process.run_id == run.pk),
        robots=robots,
        is_at_gate=is_at_gate,
        outage=outage.sentence if outage else "",
        is_resting=is_resting,
    )


def _outage_of(queue: HostQueue) -> Outage | None:
    origins = read_outages(queue.origin_outages)
    return read_outage(queue.outage) or outage_waited_for(
        origins.values(), queue.due_at, timezone.now()
    )


def _next_fetch_at(queue: HostQueue) -> datetime:
    host = queue.host
    if host.shift_id is None or host.lease_until is None:
        return max(queue.due_at, host.due_at)
    # The host's shift may give it up at any moment. Only a lost shift keeps it until the end of the
    # lease, and for a delay after that.
    is_lost = host.shift is None or host.shift.ended_at is not None
    return (
        max(queue.due_at, host.lease_until + timedelta(seconds=host.delay_seconds))
        if is_lost
        else queue.due_at
    )


def _robots_in_words(status: int | None, expires_at: datetime | None) -> str:
    if status is None or expires_at is None:
        return "not asked for yet"
    if expires_at < timezone.now():
        return "to be fetched again"
    if 200 <= status < 300:
        return "fetched"
    return f"none ({status})" if 300 <= status < 500 else f"unavailable: {status_sentence(status)}"
