"""A crawl's order, in words: what its page of settings shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import timezone

from allocation.selectors import format_amounts
from crawling.crawls.fetching_section import describe_fetching
from crawling.dashboard.run.rules import rules_in_words
from crawling.models import CrawlJob, RobotsException, Run
from crawling.orders.ranking import Order
from crawling.orders.sections.ordering import OrderingPart
from crawling.runs.grants import default_pool
from crawling.scope.scope import Reach


@dataclass(frozen=True)
class CrawlSettings:
    """The settings of a crawl."""

    crawl: CrawlJob
    #: the latest; None before the first
    run: Run | None
    claim: Sequence[str]
    """Max of each resource class."""

    @property
    def scope_in_words(self) -> str:
        return {
            Reach.HOST: "the seeds' hosts",
            Reach.PATH: "the seeds' directories",
            Reach.DOMAIN: "the seeds' domains",
        }[Reach(self.crawl.scope)]

    @property
    def asks(self) -> list[tuple[str, str]]:
        """How it asks, where that is not as usual."""
        return describe_fetching(self.crawl)

    @property
    def rules_in_words(self) -> list[tuple[str, str]]:
        """What filters and finer limits say, where they say anything."""
        return rules_in_words(self.crawl)

    @property
    def exceptions(self) -> list[RobotsException]:
        return list(
            self.crawl.robots_exceptions.select_related("by").filter(expires_at__gt=timezone.now())
        )

    @property
    def order_of_visits(self) -> str:
        return self.crawl.visit_order.replace("_", " ")

    @property
    def weights(self) -> str:
        """Of best-first; empty for the other orders, which have none."""
        part = OrderingPart.model_validate(self.crawl.ordering)
        return (
            f"links {part.links_weight:g}, address {part.url_weight:g}"
            if self.crawl.visit_order == Order.BEST_FIRST
            else ""
        )

    @property
    def importance(self) -> list[tuple[str, str]]:
        return importance_of(self.crawl)


def settings_of(crawl: CrawlJob) -> CrawlSettings:
    claim = format_amounts(default_pool().pk, crawl.claim)
    return CrawlSettings(crawl, crawl.runs.first(), claim)


def importance_of(crawl: CrawlJob) -> list[tuple[str, str]]:
    """Patterns of URLs that count more or less than others, with their weights."""
    return [(text, f"{weight:g}") for text, weight in crawl.ordering.get("importance", {}).items()]
