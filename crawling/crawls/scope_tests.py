"""What a crawl's rules say of addresses, without fetching any: the tester of scopes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from crawling.crawls.clones import order_of
from crawling.crawls.creation import part_of
from crawling.frontier.admit.crawl_rules import current_blocklist, filters_of
from crawling.frontier.due_queues import seeds_of
from crawling.models import CrawlJob
from crawling.orders.order import CrawlOrder, read_order
from crawling.orders.sections.fetching import FetchingPart
from crawling.orders.sections.filters import FiltersPart
from crawling.orders.seeds import read_typed
from crawling.scope.filters import UrlFilters
from crawling.scope.scope import Scope
from crawling.web.addresses import BadUrl, read_address

#: addresses that are tested at a time
MOST_TESTED = 500


@dataclass(frozen=True, slots=True)
class RuleCheck:
    #: in canonical form, where it has one
    url: str
    admits: bool
    #: the one that decides, "" for what is no URL
    rule: str
    number: int
    sentence: str
    hops: int = 0


def filters_of_order(order: CrawlOrder) -> UrlFilters:
    """The rules that would hold for a crawl of this order."""
    scope = Scope.of_seeds(order.scope, map(read_address, order.seeds), order.max_depth)
    return UrlFilters.of_order(scope, current_blocklist(), part_of(order, FiltersPart))


def try_scope(crawl: CrawlJob, urls: Iterable[str], *, depth: int = 1) -> list[RuleCheck]:
    """The verdict of a crawl's present rules on addresses that a page of the scope links to,
    `depth` links from a seed.
    """
    return judge_all(filters_of(crawl, crawl.runs.first()), urls, seeds=crawl.seeds, depth=depth)


def try_changes(
    crawl: CrawlJob, fields: Mapping[str, Any], urls: Iterable[str]
) -> tuple[list[RuleCheck], dict[str, str]]:
    """What the rules of a crawl would say if these fields were saved; or, by field, what is wrong
    with them.
    """
    filters, mistakes = changed_filters(crawl, fields)
    return ([], mistakes) if filters is None else (judge_all(filters, urls, seeds=crawl.seeds), {})


def changed_filters(
    crawl: CrawlJob, fields: Mapping[str, Any]
) -> tuple[UrlFilters | None, dict[str, str]]:
    """The rules that would hold for a crawl and its run if these fields were saved; or None, and
    what is wrong with them by field.
    """
    order, mistakes = read_changed(crawl, fields)
    if order is None:
        return None, mistakes
    run, filters = crawl.runs.first(), filters_of_order(order)
    return filters.with_seeds(seeds_of(run.pk)) if run else filters, {}


def read_changed(
    crawl: CrawlJob, fields: Mapping[str, Any]
) -> tuple[CrawlOrder | None, dict[str, str]]:
    """The crawl's order with these fields changed, how it asks left out, which may be secret; or
    None and a sentence by field.
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
    """What the rules of an order would say; or, by field, the mistakes that must be corrected
    first.
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
    """Judge addresses in any spelling; those that are no URLs are reported, too."""
    asked_for = set(seeds)
    return [_judge(filters, text, asked_for, depth) for text in urls]


def _judge(filters: UrlFilters, text: str, seeds: set[str], depth: int) -> RuleCheck:
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
