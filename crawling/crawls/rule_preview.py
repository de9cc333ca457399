"""What an edit of the rules would take out of the frontier, before it is saved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crawling.crawls.scope_tests import changed_filters
from crawling.frontier.change import waiting_sample
from crawling.frontier.change.rejudgement import describe_ruling, judge
from crawling.frontier.rules.sample_share import SampleShare
from crawling.models import CrawlJob, HostQueue, Run
from crawling.models.jobs import ENDED_STATES
from crawling.runs.waiting_urls import waiting_count
from crawling.scope.filters import UrlFilters
from crawling.timed import time_limit

HOSTS, EXAMPLES = 10, 10


@dataclass(frozen=True)
class HostLoss:
    """What a new rule takes from one host."""

    host: str
    #: how many of those looked at would go
    removed: int
    #: how many of the waiting: all of them, or a sample
    looked_at: int
    waiting: int


@dataclass(frozen=True)
class RulesPreview:
    """The waiting URLs that the rules would remove."""

    share: SampleShare = field(default_factory=lambda: SampleShare(0, 0, 0))
    hosts: list[HostLoss] = field(default_factory=list)
    #: addresses with the rule that keeps each out
    examples: list[tuple[str, str]] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        share = self.share
        if not share.total:
            return "Nothing waits, so nothing would be removed."
        if not share.is_estimate:
            return f"This would remove {share.hits:,} of {share.total:,} queued URLs."
        basis = f"an estimate from {share.looked_at:,} of them, drawn at random"
        if not share.looked_at:
            return (
                f"{share.total:,} URLs are queued, too few of all that the run knows to be "
                "estimated; save it, and the log tells."
            )
        least, most = share.bounds
        if not share.hits:
            return (
                f"This would remove none, or at most about {most:,}, of {share.total:,} queued "
                f"URLs: {basis}."
            )
        return (
            f"This would remove about {share.about:,} of {share.total:,} queued URLs, between "
            f"{least:,} and {most:,}: {basis}."
        )


def preview_changes(
    crawl: CrawlJob, fields: Mapping[str, Any]
) -> tuple[RulesPreview | None, dict[str, str]]:
    """What waits in the crawl's run and would not pass these rules; or None, and what is wrong with
    them by field. Nothing is changed.

    Raises SearchTookTooLong.
    """
    filters, mistakes = changed_filters(crawl, fields)
    if filters is None:
        return None, mistakes
    run = crawl.runs.first()
    if run is None or run.state in ENDED_STATES:
        return RulesPreview(), {}
    with time_limit():
        return _preview(run, filters), {}


def _preview(run: Run, filters: UrlFilters) -> RulesPreview:
    most = waiting_sample.MOST
    urls, total = waiting_sample.sample_of_waiting(run, waiting_count(run), most=most)
    out: Counter[int] = Counter()
    seen = Counter(url.queue_id for url in urls)
    examples: list[tuple[str, str]] = []
    for url in urls:
        ruling = judge(url, filters)
        if not ruling.admits:
            out[url.queue_id] += 1
            if len(examples) < EXAMPLES:
                examples.append((url.url, describe_ruling(ruling)))
    share = SampleShare(out.total(), len(urls), total)
    queues = HostQueue.objects.select_related("host").in_bulk(
        [queue for queue, _ in out.most_common(HOSTS)]
    )
    worst = [(queues[queue], n) for queue, n in out.most_common(HOSTS)]
    hosts = [HostLoss(queue.host.name, n, seen[queue.pk], queue.queued) for queue, n in worst]
    return RulesPreview(share, hosts, examples)
