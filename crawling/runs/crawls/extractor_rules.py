"""The rules of extractors in orders. An order names an extractor and stores a copy of its rules, so
that a run's order has all rules by which its pages were read. A use of crawls stores the
extractors; without that use no order can name one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.auth.models import User

from allocation.wording import beginning_of_list
from crawling.base.errors import BadOrder
from crawling.base.use import offered_by_uses
from crawling.models import CrawlJob
from crawling.orders.order import CrawlOrder
from crawling.orders.sections.reading import MAX_RULES, REVISION_MARK, read_reference

#: the most names in the sentence about an unknown extractor
NAMED = 10


class ExtractorRules(NamedTuple):
    """An extractor in one of its revisions."""

    name: str
    revision: int
    rules: Mapping[str, str]

    @property
    def reference(self) -> str:
        """The name and revision, as in an order."""
        return f"{self.name}{REVISION_MARK}{self.revision}"


@dataclass(frozen=True)
class ExtractorSource:
    """The extractors of an installation. A use offers them as `EXTRACTORS` in its module
    `orders`.
    """

    #: the newest revision of each extractor, by name
    newest: Callable[[], Sequence[ExtractorRules]]
    #: an extractor by name and revision (None for the newest), even if it is deleted
    find: Callable[[str, int | None], ExtractorRules | None]
    #: saves rules under a name; raises BadOrder
    save: Callable[[str, Mapping[str, str], User | None], ExtractorRules]


def _source() -> ExtractorSource | None:
    return next(offered_by_uses("orders", "EXTRACTORS"), None)


def newest_rules() -> Sequence[ExtractorRules]:
    found = _source()
    return found.newest() if found else ()


def named_rules(reference: str) -> ExtractorRules | None:
    """The extractor that an order names. None if there is none."""
    found = _source()
    return found.find(*read_reference(reference)) if found and reference else None


def save_named_rules(name: str, rules: Mapping[str, str], *, by: User | None) -> ExtractorRules:
    """Save rules as a new extractor. Raises BadOrder."""
    found = _source()
    if found is None:
        raise BadOrder({"extractor": "extractors are taken out of this installation"})
    return found.save(name, rules, by)


def own_rules_of_crawl(crawl: CrawlJob) -> dict[str, str]:
    """The rules of a crawl's order beside those of its extractor."""
    return _rules_unless_named(crawl.extract, crawl.extractor)


def _rules_unless_named(rules: Mapping[str, str], reference: str) -> dict[str, str]:
    taken = named_rules(reference)
    given = taken.rules if taken else {}
    return {name: rule for name, rule in rules.items() if given.get(name) != rule}


def order_with_named_rules(order: CrawlOrder) -> CrawlOrder:
    """The order with the rules of the extractor that it names. A rule of the order replaces the
    extractor's rule of the same name. Raises BadOrder.
    """
    if not order.extractor:
        return order
    found = named_rules(order.extractor)
    if found is None:
        names = beginning_of_list([one.name for one in newest_rules()], NAMED) or "none"
        told = f"there is no extractor {order.extractor!r}; there are: {names}"
        raise BadOrder({"extractor": told})
    rules = {**found.rules, **order.extract}
    if len(rules) > MAX_RULES:
        told = f"with those of the extractor they are {len(rules)}, and {MAX_RULES} at most"
        raise BadOrder({"extract": told})
    return order.model_copy(update={"extract": rules, "extractor": found.reference})


def restored_order(order: CrawlOrder) -> CrawlOrder:
    """The order of a checkpoint, with its rules. The name of an extractor of another installation
    is left out.
    """
    found = named_rules(order.extractor)
    is_same = found is not None and found.rules.items() <= order.extract.items()
    return order if is_same else order.model_copy(update={"extractor": ""})


def edited_rules(crawl: CrawlJob, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an edit. If rules are among them, the extractor's rules are left out and read
    again, since another revision may have different rules.
    """
    if fields.keys().isdisjoint({"extract", "extractor"}):
        return dict(fields)
    changed = {"extractor": crawl.extractor, "extract": crawl.extract, **fields}
    is_given = "extract" in fields and not changed["extractor"]
    if isinstance(changed["extract"], Mapping) and not is_given:
        changed["extract"] = _rules_unless_named(changed["extract"], crawl.extractor)
    return changed
