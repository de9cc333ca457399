"""Verdicts of a crawl's rules on addresses, without a request to any of them. Also a preview of an
edit of the rules: the URLs that the edit would take out of the frontier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crawling.base.timed import time_limit
from crawling.frontier import filters_of_run
from crawling.frontier.admit.crawl_rules import current_blocklist, filters_of_scope
from crawling.frontier.change import rejudgement
from crawling.frontier.change.rejudgement import ruling_of_row
from crawling.frontier.due_queues import seeds_of
from crawling.frontier.rules.sample_share import SampleShare
from crawling.models import CrawlJob, HostQueue, Run
from crawling.models.jobs import ENDED_STATES
from crawling.orders.order import CrawlOrder, read_order
from crawling.orders.scope.filters import UrlFilters
from crawling.orders.scope.scope import Scope
from crawling.orders.sections.fetching import FetchingPart
from crawling.orders.seeds import read_typed
from crawling.runs.crawls.creation import order_of
from crawling.runs.waiting_urls import waiting_count
from crawling.web.addresses import BadUrl, read_address

#: the most addresses that are tested at a time
MOST_TESTED = 500
HOSTS, EXAMPLES = 10, 10


@dataclass(frozen=True, slots=True)
class RuleCheck:
    #: the canonical form; "" if the text is no URL
    url: str
    admits: bool
    #: the deciding rule; "" if the text is no URL
    rule: str
    number: int
    sentence: str
    hops: int = 0


def filters_of_order(order: CrawlOrder) -> UrlFilters:
    scope = Scope.of_seeds(order.scope, map(read_address, order.seeds), order.max_depth)
    return filters_of_scope(scope, current_blocklist(), order)


def try_scope(crawl: CrawlJob, urls: Iterable[str], *, depth: int = 1) -> list[RuleCheck]:
    """The verdict of a crawl's current rules on addresses to which a page in the scope links,
    `depth` links from a seed.
    """
    return judge_all(
        filters_of_run(crawl, crawl.runs.first()), urls, seeds=crawl.seeds, depth=depth
    )


def try_changes(
    crawl: CrawlJob, fields: Mapping[str, Any], urls: Iterable[str]
) -> tuple[list[RuleCheck], dict[str, str]]:
    """The verdicts of a crawl's rules as if these fields were saved. If the fields have mistakes,
    an empty list and the mistakes by field.
    """
    filters, mistakes = changed_filters(crawl, fields)
    return ([], mistakes) if filters is None else (judge_all(filters, urls, seeds=crawl.seeds), {})


def changed_filters(
    crawl: CrawlJob, fields: Mapping[str, Any]
) -> tuple[UrlFilters | None, dict[str, str]]:
    """The rules that would apply to a crawl and its run if these fields were saved. If the fields
    have mistakes, None and the mistakes by field.
    """
    order, mistakes = changed_order(crawl, fields)
    if order is None:
        return None, mistakes
    run, filters = crawl.runs.first(), filters_of_order(order)
    if run:
        own = seeds_of(run.pk)
        filters = filters.with_seeds(own.seeds).with_targets(own.targets)
    return filters, {}


def changed_order(
    crawl: CrawlJob, fields: Mapping[str, Any]
) -> tuple[CrawlOrder | None, dict[str, str]]:
    """The crawl's order as if these fields were saved, without the section on requests, which may
    be secret. If the fields have mistakes, None and a sentence for each field.
    """
    return read_order(
        {
            name: value
            for name, value in {**order_of(crawl), **fields}.items()
            if name not in FetchingPart.model_fields
        }
    )


def try_order(
    fields: Mapping[str, Any], urls: Iterable[str]
) -> tuple[list[RuleCheck], dict[str, str]]:
    """The verdicts of an order's rules. If the order has mistakes, an empty list and the mistakes
    by field.
    """
    order, mistakes = read_order({key: value for key, value in fields.items() if key != "claim"})
    return (
        (judge_all(filters_of_order(order), urls, seeds=order.seeds), {})
        if order
        else ([], mistakes)
    )


def judge_all(
    filters: UrlFilters, urls: Iterable[str], *, seeds: Iterable[str], depth: int = 1
) -> list[RuleCheck]:
    """Judge addresses in any spelling. A text that is no URL gets a result without a rule."""
    asked_for = set(seeds)
    return [_rule_check(filters, text, asked_for, depth) for text in urls]


def _rule_check(filters: UrlFilters, text: str, seeds: set[str], depth: int) -> RuleCheck:
    try:
        address = read_typed(text)
    except BadUrl as error:
        return RuleCheck(text, False, "", 0, str(error))
    ruling = filters.judge(address, depth=depth, is_seed=address.url in seeds)
    return RuleCheck(
        address.url,
        ruling.admits,
        ruling.rule.value,
        ruling.rule.number,
        ruling.sentence,
        ruling.hops,
    )


@dataclass(frozen=True)
class HostLoss:
    host: str
    #: the number of examined URLs that would be excluded
    removed: int
    #: the number of waiting URLs that were examined: all of them, or a sample
    looked_at: int
    waiting: int


@dataclass(frozen=True)
class RulesPreview:
    share: SampleShare = field(default_factory=lambda: SampleShare(0, 0, 0))
    hosts: list[HostLoss] = field(default_factory=list)
    #: addresses, each with the rule that excludes it
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
    """The waiting URLs of the crawl's run that would not pass these rules. If the rules have
    mistakes, None and the mistakes by field. Nothing is changed.

    Raises SearchTookTooLong.
    """
    filters, mistakes = changed_filters(crawl, fields)
    if filters is None:
        return None, mistakes
    run = crawl.runs.first()
    if run is None or run.state in ENDED_STATES:
        return RulesPreview(), {}
    with time_limit():
        return _rules_preview(run, filters), {}


def _rules_preview(run: Run, filters: UrlFilters) -> RulesPreview:
    most = rejudgement.MOST_SAMPLED
    urls, total = rejudgement.sample_of_waiting(run, waiting_count(run), most=most)
    out: Counter[int] = Counter()
    seen = Counter(url.queue_id for url in urls)
    examples: list[tuple[str, str]] = []
    for url in urls:
        ruling = ruling_of_row(url, filters)
        if not ruling.admits:
            out[url.queue_id] += 1
            if len(examples) < EXAMPLES:
                examples.append((url.url, ruling.explanation))
    share = SampleShare(out.total(), len(urls), total)
    queues = HostQueue.objects.select_related("host").in_bulk(
        [queue for queue, _ in out.most_common(HOSTS)]
    )
    worst = [(queues[queue], n) for queue, n in out.most_common(HOSTS)]
    hosts = [HostLoss(queue.host.name, n, seen[queue.pk], queue.queued) for queue, n in worst]
    return RulesPreview(share, hosts, examples)
