"""The parts of an order, read from the columns of a crawl's row."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from crawling.orders.sections.budget import BudgetPart
from crawling.orders.sections.fetching import FetchingPart
from crawling.orders.sections.filters import FiltersPart
from crawling.orders.sections.ordering import OrderingPart
from crawling.orders.sections.politeness import PolitenessPart
from crawling.orders.sections.rendering import RenderingPart
from crawling.orders.sections.reuse import ReusePart
from crawling.orders.sections.thresholds import ThresholdsPart

Part = TypeVar("Part", bound=BaseModel)


class OrderColumns(Protocol):
    """The columns of a crawl, each of which has the fields of one part."""

    fetching: Any
    ordering: Any
    filters: Any
    budget: Any
    politeness: Any
    rendering: Any
    reuse: Any
    thresholds: Any


class StoredOrder:
    """The order of a crawl, read from its row each time.

    Reading takes a few microseconds, so no copy is kept, which an edit would make stale.
    """

    __slots__ = ("_row",)

    def __init__(self, row: OrderColumns) -> None:
        self._row = row

    @property
    def fetching(self) -> FetchingPart:
        """The order with masked secrets. `crawling.runs.crawls.fetching_section` has the real
        ones.
        """
        return read_part(FetchingPart, self._row.fetching)

    @property
    def ordering(self) -> OrderingPart:
        return read_part(OrderingPart, self._row.ordering)

    @property
    def filters(self) -> FiltersPart:
        return read_part(FiltersPart, self._row.filters)

    @property
    def budget(self) -> BudgetPart:
        return read_part(BudgetPart, self._row.budget)

    @property
    def politeness(self) -> PolitenessPart:
        return read_part(PolitenessPart, self._row.politeness)

    @property
    def rendering(self) -> RenderingPart:
        return read_part(RenderingPart, self._row.rendering)

    @property
    def reuse(self) -> ReusePart:
        return read_part(ReusePart, self._row.reuse)

    @property
    def thresholds(self) -> ThresholdsPart:
        return read_part(ThresholdsPart, self._row.thresholds)


def read_part(part: type[Part], column: Mapping[str, Any]) -> Part:
    """The part of an order that a column has.

    The part was checked when it was stored, and is not checked again: a row may be older than a
    rule, lack a field, or have a removed field.
    """
    return part.model_construct(**{**_defaults(part), **column})


@cache
def _defaults(part: type[BaseModel]) -> dict[str, Any]:
    """The default of each field. Pydantic would take up to half a millisecond to find the defaults
    for unchecked values.
    """
    return part().model_dump()
