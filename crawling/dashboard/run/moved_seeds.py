"""Seeds that redirect to another site. Of that site a crawl fetches only the target page."""

from __future__ import annotations

from typing import NamedTuple

from crawling.models import CrawlJob, Run, Url
from crawling.orders.scope.scope import Reach, site_of
from crawling.web.addresses import canonical_address

#: the most rows that are read
MOST = 20
#: the most seeds of a crawl that are compared, since each view of the crawl's page reads all of
#: them
MOST_SEEDS = 5_000


class MovedSeed(NamedTuple):
    seed: str
    target: str
    #: the site of the target
    site: str


def may_have_moved_seeds(crawl: CrawlJob) -> bool:
    """Whether the crawl may have such seeds. If every site is in its scope, no seed is one."""
    return crawl.scope != Reach.ANYWHERE and len(crawl.seeds) <= MOST_SEEDS


def moved_seeds(run: Run) -> list[MovedSeed]:
    """The first seeds of a run that redirect to another site."""
    if not may_have_moved_seeds(run.crawl):
        return []
    targets = list(Url.objects.filter(run=run, depth=0, redirects__gt=0).order_by("pk")[:MOST])
    seeds = dict(
        Url.objects.filter(pk__in=[row.via for row in targets if row.via]).values_list("pk", "url")
        if targets
        else ()
    )
    asked = _sites(run.crawl) if targets else frozenset()
    return [
        MovedSeed(seeds[row.via], row.url, site)
        for row in targets
        if row.via in seeds
        and (site := site_of(canonical_address(row.url))) not in asked
        and site != site_of(canonical_address(seeds[row.via]))
    ]


def _sites(crawl: CrawlJob) -> frozenset[str]:
    return frozenset(site_of(canonical_address(seed)) for seed in crawl.seeds)
