"""The rules of a crawl that apply now, from its order and the blocklist."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Count, Q

from crawling.frontier.due_queues import RunSeeds, seeds_of
from crawling.models import BlocklistEntry, CrawlJob, RobotsException, Run
from crawling.orders.scope.blocklist import Blocklist, BlocklistKind, BlocklistMatch
from crawling.orders.scope.filters import UrlFilters
from crawling.orders.scope.scope import Reach, Scope
from crawling.orders.sections.filters import FiltersPart
from crawling.web.addresses import Address, canonical_address
from crawling.web.expressions import Expressions

#: the policy that an archive states if no robots.txt is excepted (WARC 1.1, `robots` of a warcinfo
#: record)
OBEYED = "classic"


def current_blocklist(about: Address | None = None) -> Blocklist:
    """The blocklist as it is stored now. about: read only the hosts and domains that cover this
    address.
    """
    rows = BlocklistEntry.objects.filter(removed_at=None)
    if about:
        names = about.hostname.split(".")
        domains = [".".join(names[place:]) for place in range(len(names))]
        rows = rows.filter(
            Q(kind=BlocklistKind.HOST, text=about.host_key)
            | Q(kind=BlocklistKind.DOMAIN, text__in=domains)
            | Q(kind__in=(BlocklistKind.PREFIX, BlocklistKind.REGEX))
        )
    entries = rows.order_by("pk").values_list("pk", "kind", "text", "reason")
    return Blocklist(
        BlocklistMatch(pk, BlocklistKind(kind), text, reason) for pk, kind, text, reason in entries
    )


class KeptBlocklist:
    """The blocklist for callers that read it often. It is read from the database again only after
    an edit.

    It takes about 300 bytes an entry while it is in memory, as in a shift.
    """

    def __init__(self) -> None:
        self._version = ""
        self._blocklist: Blocklist | None = None

    def current(self) -> Blocklist:
        version = blocklist_version()
        if self._blocklist is None or version != self._version:
            self._blocklist, self._version = current_blocklist(), version
        return self._blocklist

    def forget(self) -> None:
        """Free the memory until the next read."""
        self._blocklist = None


def filters_of_run(
    crawl: CrawlJob,
    run: Run | None = None,
    *,
    blocklist: Blocklist | None = None,
    seeds: RunSeeds | None = None,
) -> UrlFilters:
    """The rules that apply to a crawl. In a run, redirect targets of seeds on their own sites count
    as seeds, too.

    blocklist, seeds: the list and the run's seeds, if the caller has them.
    """
    if seeds is None:
        seeds = seeds_of(run.pk) if run else RunSeeds([], [])
    ordered = [canonical_address(seed) for seed in crawl.seeds]
    scope = Scope.of_seeds(Reach(crawl.scope), [*ordered, *seeds.seeds], crawl.max_depth)
    scope = scope.with_targets(seeds.targets)
    return filters_of_scope(scope, blocklist or current_blocklist(), crawl.order.filters)


def filters_of_scope(scope: Scope, blocklist: Blocklist, part: FiltersPart) -> UrlFilters:
    return UrlFilters(
        scope,
        blocklist,
        schemes=frozenset(part.schemes),
        include=Expressions(part.include),
        exclude=Expressions(part.exclude),
        off_site_hops=part.off_site_hops,
        checks_external=part.check_external,
        types=tuple(part.types),
        max_document_bytes=part.max_document_bytes,
    )


def rules_key(crawl: CrawlJob) -> str:
    """The name of the rules that apply now: the order's revision and the blocklist's version."""
    return f"{crawl.revision}.{blocklist_version()}"


def blocklist_version() -> str:
    """The number of additions to the blocklist and removals from it so far."""
    listed = BlocklistEntry.objects.aggregate(entries=Count("pk"), removed=Count("removed_at"))
    return f"{listed['entries']}.{listed['removed']}"


def revision_of_key(key: str) -> int:
    """The revision of the order in a name made by `rules_key`; 0 if the name has none."""
    number = key.partition(".")[0]
    return int(number) if number else 0


def robots_in_words(crawl: CrawlJob, now: datetime) -> str:
    """The crawl's treatment of robots.txt in words, as its archive states it."""
    rows = (
        RobotsException.objects.select_related("by")
        .filter(crawl=crawl, expires_at__gt=now)
        .order_by("pk")
    )
    excepted = [
        f"ignored on {row.host} until {row.expires_at:%Y-%m-%dT%H:%M:%SZ}, as {row.by} says: "
        f"{row.reason}"
        for row in rows
    ]
    return "; ".join([OBEYED, *excepted])


def unbound_hosts(crawl: CrawlJob, now: datetime) -> frozenset[str]:
    """The hosts with a robots.txt that does not bind the crawl at this moment."""
    return frozenset(
        RobotsException.objects.filter(crawl=crawl, expires_at__gt=now).values_list(
            "host", flat=True
        )
    )
