"""A crawl's order in words, for its page of settings."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from pydantic import BaseModel

from allocation.selectors import format_amounts
from crawling.installation.pools import pool_of
from crawling.models import CrawlJob, RobotsException, Run
from crawling.orders.fields import OrderField, fields_of
from crawling.orders.order import FIELDS
from crawling.orders.ranking import Order
from crawling.orders.scope.scope import Reach
from crawling.orders.sections.reading import revision_in_words

#: the unit, by the last word of a field's name
UNITS = {"pages": " pages", "seconds": " s", "minutes": " minutes", "percent": " %"}


@dataclass(frozen=True)
class CrawlSettings:
    crawl: CrawlJob
    #: the latest run; None before the first run
    run: Run | None
    #: the Max of each resource class, in words
    claim: Sequence[str]

    @property
    def purpose(self) -> str:
        return next(
            words
            for one in FIELDS
            if one.name == "purpose"
            for value, words in one.question.choices
            if value == self.crawl.purpose
        )

    @property
    def extractor(self) -> str:
        return revision_in_words(self.crawl.extractor)

    @property
    def scope_in_words(self) -> str:
        return {
            Reach.HOST: "hosts of the start URLs",
            Reach.PATH: "directories of the start URLs",
            Reach.DOMAIN: "domains of the start URLs",
            Reach.ANYWHERE: "anywhere",
        }[Reach(self.crawl.scope)]

    @property
    def asks(self) -> list[tuple[str, str]]:
        """The settings of requests that differ from the defaults, with masked secrets."""
        return fields_in_words(self.crawl.order.fetching)

    @property
    def filters_in_words(self) -> list[tuple[str, str]]:
        return fields_in_words(self.crawl.order.filters)

    @property
    def limits_in_words(self) -> list[tuple[str, str]]:
        order, thresholds = self.crawl.order, self.crawl.order.thresholds
        has_one = thresholds.max_error_percent or thresholds.min_free_bytes
        return [
            *fields_in_words(order.budget),
            *fields_in_words(thresholds, always={"at_threshold"} if has_one else ()),
        ]

    @property
    def rendering_in_words(self) -> list[tuple[str, str]]:
        """The settings for pages that need a browser; empty if no page is rendered."""
        rendering = self.crawl.order.rendering
        return fields_in_words(rendering) if rendering.may_render else []

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
        """The weights of a best-first crawl; empty for other orders of visits."""
        part = self.crawl.order.ordering
        return (
            f"links {part.links_weight:g}, address {part.url_weight:g}"
            if self.crawl.visit_order == Order.BEST_FIRST
            else ""
        )

    @property
    def importance_rules(self) -> list[tuple[str, str]]:
        return importance_rules(self.crawl)


def fields_in_words(part: BaseModel, *, always: Collection[str] = ()) -> list[tuple[str, str]]:
    """The heading and the value, in words, of each field that differs from its default or is in
    `always`.
    """
    told: dict[str, list[str]] = {}
    for one in fields_of(type(part)):
        value = getattr(part, one.name)
        if value != one.default or one.name in always:
            heading = one.question.heading or one.question.label
            told.setdefault(heading, []).append(_in_words(one, value))
    return [(heading, ", ".join(words)) for heading, words in told.items()]


def _in_words(one: OrderField, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, dict):
        return "\n".join(f"{name}: {text}" for name, text in value.items())
    if value is None or isinstance(value, bool):
        return {None: "never", True: "yes", False: "no"}[value]
    if isinstance(value, str):
        return dict(one.question.choices).get(value, value)
    unit = one.name.rpartition("_")[2]
    if unit == "bytes":
        return filesizeformat(value)
    return (f"{value:,}" if isinstance(value, int) else f"{value:g}") + UNITS.get(unit, "")


def settings_of(crawl: CrawlJob) -> CrawlSettings:
    claim = format_amounts(pool_of(crawl).pk, crawl.claim)
    return CrawlSettings(crawl, crawl.runs.first(), claim)


def importance_rules(crawl: CrawlJob) -> list[tuple[str, str]]:
    """Patterns of URLs that count more or less than other URLs, with their weights."""
    return [(text, f"{weight:g}") for text, weight in crawl.order.ordering.importance.items()]
