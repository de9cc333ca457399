"""What an operator may ask of a crawl, and the sentence for each mistake.

Every door (page, JSON, command) reads orders here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    field_validator,
)

from allocation.rules.fairness import PRIORITIES
from crawling.orders.fields import NUMBER, ONE_LINE, Bytes, Count, Text
from crawling.orders.ranking import Order
from crawling.orders.sections.budget import BudgetPart
from crawling.orders.sections.fetching import FetchingPart
from crawling.orders.sections.filters import FiltersPart
from crawling.orders.sections.ordering import OrderingPart
from crawling.orders.sections.politeness import Politeness
from crawling.orders.sections.reuse import ReuseOrder
from crawling.orders.sections.thresholds import ThresholdsPart
from crawling.orders.seeds import in_short, read_seeds
from crawling.scope.scope import Reach
from crawling.web.documents.css_selectors import BadSelector, read_selector

#: more belong into several crawls, which can then be paused, limited and compared apart
MAX_SEEDS = 5000
MAX_BATCH_SIZE = 500
MAX_NAME_LENGTH = 100
#: extraction rules of an order
MAX_RULES = 50

Units = Annotated[int, Field(ge=0, le=2_000_000_000), NUMBER]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH, pattern=ONE_LINE)]


def _words(choices: type[StrEnum]) -> WithJsonSchema:
    """The choices in place: a schema within OpenAPI's has no room for definitions of its own."""
    return WithJsonSchema({"type": "string", "enum": [choice.value for choice in choices]})


class CrawlOrder(
    FiltersPart, BudgetPart, Politeness, ReuseOrder, FetchingPart, OrderingPart, ThresholdsPart
):
    """A checked order. `None` as a limit means no limit.

    scope: which links are followed, by their distance from the seeds (`crawling.scope.scope`).
    batch_size: URLs a host hands out between two looks at the frontier; 1 keeps the order of visits
    exact, more is faster. archive: whether every answer is kept as it came, in WARC files.
    obey_nofollow: links marked `nofollow`, and all links of pages so marked, are left alone.
    requisites: what pages are shown with (images, sheets, scripts, media) is fetched like any link.
    extract: name -> CSS selector of what is taken out of every HTML page; `::attr(NAME)` behind it
    takes an attribute. claim: Max, units by resource class; classes that are left out take the
    pool's usual share. priority: of its starts at the bank: each step is a minute's lead, and 10 is
    urgent, which may use what is reserved. processes: crawl processes that share the hosts; on one
    host a second one gains nothing.
    Its other fields are those of its parts.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH, pattern=ONE_LINE)]
    seeds: Annotated[list[str], Field(min_length=1, max_length=MAX_SEEDS)]
    scope: Annotated[Reach, _words(Reach)] = Reach.HOST
    order: Annotated[Order, _words(Order)] = Order.BREADTH_FIRST
    max_pages: Count | None = None
    max_depth: Annotated[int, Field(ge=0, le=10_000), NUMBER] | None = None
    max_bytes: Bytes | None = None
    max_seconds: Count | None = None
    delay_seconds: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False), NUMBER] = 1.0
    processes: Annotated[int, Field(ge=1, le=64), NUMBER] = 1
    batch_size: Annotated[int, Field(ge=1, le=MAX_BATCH_SIZE), NUMBER] = 100
    archive: bool = True
    obey_nofollow: bool = False
    requisites: bool = False
    extract: Annotated[dict[Name, Text], Field(max_length=MAX_RULES)] = Field(default_factory=dict)
    claim: dict[str, Units] = Field(default_factory=dict)
    priority: Annotated[int, Field(ge=min(PRIORITIES), le=max(PRIORITIES)), NUMBER] = 0

    @field_validator("extract")
    @classmethod
    def _selectors(cls, rules: dict[str, str]) -> dict[str, str]:
        wrong = []
        for rule in rules.values():
            try:
                read_selector(rule)
            except BadSelector as error:
                wrong.append(str(error))
        if wrong:
            raise ValueError("; ".join(wrong[:3]))
        return rules

    @field_validator("name")
    @classmethod
    def _not_a_number(cls, name: str) -> str:
        if name.isascii() and name.isdigit():
            raise ValueError(
                "must not be a number: crawls have numbers besides, and `crawl stop 2` must "
                "mean one of them"
            )
        return name

    @field_validator("seeds")
    @classmethod
    def _canonical(cls, seeds: list[str]) -> list[str]:
        addresses, wrong = read_seeds(seeds)
        if wrong:
            raise ValueError(in_short(wrong))
        return [address.url for address in addresses]


#: pydantic's kind of error -> our sentence; the placeholders are the error's own context
SENTENCES = {
    "missing": "is needed",
    "extra_forbidden": "is not a field of a crawl order; these are: "
    + ", ".join(CrawlOrder.model_fields),
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "must be a whole number of fewer digits",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "string_type": "must be text",
    "string_unicode": "must be text; it holds half a character",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must be one line without control characters",
    "list_type": "must be a list",
    "dict_type": "must be a table of class and units, of name and selector, or of expression "
    "and weight",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
    "value_error": "{error}",
}


def read_order(fields: Mapping[str, Any]) -> tuple[CrawlOrder | None, dict[str, str]]:
    """Return the order, or None and a sentence by field. All mistakes are told at once."""
    try:
        order = CrawlOrder.model_validate(dict(fields))
    except ValidationError as error:
        errors: dict[str, str] = {}
        for mistake in error.errors():
            field = ".".join(str(part) for part in mistake["loc"])
            errors.setdefault(
                field, sentence_for(mistake["type"], mistake.get("ctx", {}), mistake["msg"])
            )
        return None, errors
    mistakes = order.budget_mistakes()
    return (None, mistakes) if mistakes else (order, {})


def read_claim(value: object) -> dict[str, int]:
    """The claim of an order that has other mistakes, so that all can be told at once; empty if it
    is no claim at all.
    """
    try:
        return TypeAdapter(dict[str, Units]).validate_python(value)
    except ValidationError:
        return {}


def sentence_for(kind: str, context: Mapping[str, Any], otherwise: str) -> str:
    """Our sentence for pydantic's kind of error, or pydantic's own where we have none."""
    if kind == "too_short":
        return "needs at least one entry"
    if kind == "too_long":
        return (
            f"has {context['actual_length']} entries, at most {context['max_length']} are taken; "
            "split it over several crawls"
        )
    return SENTENCES[kind].format(**context) if kind in SENTENCES else otherwise
