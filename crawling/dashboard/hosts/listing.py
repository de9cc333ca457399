"""Every host that any crawl has met: addresses, robots.txt, the crawl that fetches from it, and
blocks. Also pages of all crawls by a part of their address or title.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Count, Q, Sum
from django.utils import timezone

from crawling.base.timed import time_limit
from crawling.dashboard.base.crawl_views import prefetched_shifts
from crawling.dashboard.hosts.filter import HostFilter, host_blocklist_entries
from crawling.models import BlocklistEntry, CrawlJob, Host, HostQueue, Page, RobotsFile
from crawling.web.statuses import status_sentence
from dnscache.models import DnsEntry
from serving.downloads import Download, row_file
from serving.paging import cut_to_limit

HOSTS = 100
CRAWLS = 100
PAGES = 100
#: the index has trigrams, so a text needs this many characters
SHORTEST = 3
#: the most matching pages that a search reads; more pages match only a very common text
LOOKED_AT = 2_000


@dataclass(frozen=True)
class HostSummary:
    host: Host
    addresses: Sequence[str]
    robots: str
    #: recent troubles, in words
    trouble: str
    crawls: int
    queued: int
    done: int
    #: the name of the crawl that is fetching from the host
    leased_by: str
    block: BlocklistEntry | None

    @property
    def is_resting(self) -> bool:
        return self.host.due_at > timezone.now()

    @property
    def due_at(self) -> datetime:
        return self.host.due_at


@dataclass(frozen=True)
class VisitingCrawl:
    """A crawl that has met a host in its latest run."""

    crawl: CrawlJob
    state: str
    queued: int
    done: int


def list_hosts(wanted: HostFilter, *, most: int = HOSTS) -> tuple[list[HostSummary], str | None]:
    """Hosts by name, and the name of the last one if more follow."""
    found = wanted.found().prefetch_related(prefetched_shifts("shift")).order_by("name")
    rows, following = cut_to_limit(list(found[: most + 1]), most, lambda host: host.name)
    return summarize_hosts(rows), following


def summarize_hosts(hosts: Sequence[Host]) -> list[HostSummary]:
    """The facts of these hosts, in a fixed number of queries."""
    names = [host.name for host in hosts]
    entries = {
        entry.name: entry
        for entry in DnsEntry.objects.filter(name__in={dns_name(name) for name in names})
    }
    files = RobotsFile.objects.filter(
        origin__in=[f"{scheme}://{name}" for scheme in ("http", "https") for name in names]
    )
    robots = {
        file.origin.partition("://")[2]: file for file in files.defer("body").order_by("fetched_at")
    }
    blocked = {
        block.text: block
        for block in host_blocklist_entries().filter(text__in=names).select_related("by")
    }
    queues = HostQueue.objects.filter(host__in=hosts, run__is_latest=True).values("host")
    work: dict[int, dict[str, Any]] = {
        row["host"]: dict(row)
        for row in queues.annotate(runs=Count("*"), waiting=Sum("queued"), ended=Sum("done"))
    }
    return [
        _summary_of(
            host, entries, robots.get(host.name), blocked.get(host.name), work.get(host.pk, {})
        )
        for host in hosts
    ]


def _summary_of(
    host: Host,
    entries: Mapping[str, DnsEntry],
    robots: RobotsFile | None,
    block: BlocklistEntry | None,
    work: Mapping[str, int],
) -> HostSummary:
    entry, shift = entries.get(dns_name(host.name)), host.shift
    troubles: Iterable[str] = (
        entry.get_status_display() if entry and entry.status != DnsEntry.Status.OK else "",
        status_sentence(robots.status)
        if robots and (robots.status < 0 or robots.status >= 500)
        else "",
    )
    return HostSummary(
        host=host,
        addresses=list(entry.addresses) if entry else [],
        robots=_robots_in_words(robots),
        trouble="; ".join(filter(None, troubles)),
        crawls=work.get("runs", 0),
        queued=work.get("waiting", 0),
        done=work.get("ended", 0),
        leased_by=shift.process.run.crawl.name if shift and shift.ended_at is None else "",
        block=block,
    )


def _robots_in_words(file: RobotsFile | None) -> str:
    if file is None:
        return "not asked for"
    return (
        "fetched"
        if 200 <= file.status < 300
        else f"none ({file.status})"
        if 300 <= file.status < 500
        else "unavailable"
    )


def dns_name(name: str) -> str:
    """The name for DNS: without port and brackets."""
    return name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]


def visitors_of(host: Host) -> list[VisitingCrawl]:
    """The crawls whose latest run has met the host, those with the most waiting URLs first."""
    queues = (
        HostQueue.objects.filter(host=host, run__is_latest=True)
        .select_related("run__crawl")
        .order_by("-queued", "-pk")
    )
    return [
        VisitingCrawl(queue.run.crawl, queue.run.state, queue.queued, queue.done)
        for queue in queues[:CRAWLS]
    ]


def hosts_file(wanted: HostFilter, kind: str) -> Download:
    """The wanted hosts as csv or jsonl, each as in `/api/v1/hosts`."""
    return row_file("hosts", kind, map(host_row, _hosts(wanted)))


def _hosts(wanted: HostFilter) -> Iterator[HostSummary]:
    after: str | None = ""
    while after is not None:
        rows, after = list_hosts(replace(wanted, after=after))
        yield from rows


def host_row(row: HostSummary) -> dict[str, Any]:
    facts = {
        name: getattr(row, name)
        for name in (
            "addresses",
            "robots",
            "trouble",
            "due_at",
            "leased_by",
            "crawls",
            "queued",
            "done",
        )
    }
    return {
        "id": row.host.pk,
        "name": row.host.name,
        **facts,
        "blocked": row.block.reason if row.block else None,
    }


@dataclass(frozen=True)
class PageSearchResult:
    """The found pages, the latest first."""

    pages: Sequence[Page]
    #: whether there are more pages
    is_more: bool
    #: whether a part of the matches was not read, so that later ones may be missing
    is_common: bool = False

    @property
    def has_pictures(self) -> bool:
        return any(page.has_picture for page in self.pages)


def contains_text(text: str) -> Q:
    """The condition, in the form that the index `pages_by_words` has."""
    return Q(final_url__icontains=text) | Q(title__icontains=text)


def search_pages(text: str) -> PageSearchResult:
    """Pages with the text in their address or title, ignoring case.

    Two queries. Raises SearchTookTooLong.
    """
    with time_limit():
        # In no order: to sort all pages that contain "html", PostgreSQL would have to read all of
        # them.
        ids = list(
            Page.objects.filter(contains_text(text))
            .order_by()
            .values_list("pk", flat=True)[: LOOKED_AT + 1]
        )
        pages = (
            Page.objects.filter(pk__in=ids, run__removal_asked_at=None)
            .select_related("url", "run__crawl")
            .order_by("-fetched_at", "-url_id")
        )
        found = list(pages[:PAGES])
    return PageSearchResult(found, is_more=len(ids) > PAGES, is_common=len(ids) > LOOKED_AT)
