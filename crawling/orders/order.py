"""The order of an operator, and the sentence for each mistake in it.

Pages, JSON and commands all read orders here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    field_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from allocation.rules.fairness import PRIORITIES
from crawling.orders.fields import (
    MEGABYTES,
    MINUTES,
    NUMBER,
    ONE_LINE,
    Bytes,
    Count,
    Question,
    fields_of,
)
from crawling.orders.purposes import Purpose, preset_of
from crawling.orders.ranking import VISIT_ORDERS, Order
from crawling.orders.scope.scope import Reach
from crawling.orders.sections.budget import BudgetPart
from crawling.orders.sections.fetching import FetchingPart
from crawling.orders.sections.filters import FiltersPart
from crawling.orders.sections.ordering import OrderingPart
from crawling.orders.sections.politeness import PolitenessPart
from crawling.orders.sections.reading import Name, ReadingPart
from crawling.orders.sections.rendering import RenderingPart
from crawling.orders.sections.reuse import ReusePart
from crawling.orders.sections.thresholds import ThresholdsPart
from crawling.orders.seeds import mistakes_in_short, read_seeds
from crawling.orders.sentences import sentence_for

#: the most seeds of a crawl; more are better divided among several crawls, which can be paused,
#: limited and compared separately
MAX_SEEDS = 5000
MAX_BATCH_SIZE = 500
MOST_PROCESSES = 64

Depth = Annotated[int, Field(ge=0, le=10_000), NUMBER]
Units = Annotated[int, Field(ge=0, le=2_000_000_000), NUMBER]


class VisitOrderChoices(Sequence[tuple[str, str]]):
    """The orders of visits with the effect of each: the crawler's own, and those of packages."""

    def __len__(self) -> int:
        return len(VISIT_ORDERS.parts)

    def __getitem__(self, place: Any) -> Any:
        return [(name, order.label) for name, order in VISIT_ORDERS.parts.items()][place]

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "enum": list(VISIT_ORDERS.parts)}


def _check_visit_order(name: str) -> str:
    if name in VISIT_ORDERS.parts:
        return name
    *others, last = map(repr, VISIT_ORDERS.parts)
    known = f"must be {', '.join(others)} or {last}"
    fault = VISIT_ORDERS.fault_of(name)
    raise ValueError(f"{known}; {fault}" if fault else known)


ORDERS = VisitOrderChoices()


def _choices_schema(choices: type[StrEnum]) -> WithJsonSchema:
    """The schema with inlined choices, since a schema within OpenAPI's cannot have definitions of
    its own.
    """
    return WithJsonSchema({"type": "string", "enum": [choice.value for choice in choices]})


class CrawlOrder(
    ReusePart,
    RenderingPart,
    ReadingPart,
    FetchingPart,
    PolitenessPart,
    OrderingPart,
    ThresholdsPart,
    BudgetPart,
    FiltersPart,
):
    """A checked order. `None` as a limit means no limit. Most fields belong to its parts, the last
    of which comes first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    name: Annotated[
        Name, Question(meaning="name of the crawl; default: the first seed's host", option="--name")
    ]
    seeds: Annotated[
        list[str],
        Field(min_length=1, max_length=MAX_SEEDS),
        Question(meaning="URLs at which the crawl begins"),
    ]
    scope: Annotated[
        Reach,
        _choices_schema(Reach),
        Question(
            label="Scope",
            help="The target of a redirect of a start URL counts as a start URL.",
            meaning="links to follow: those to the seeds' host, path or domain, or anywhere",
            choices=(
                (Reach.HOST, "the hosts of the start URLs"),
                (Reach.PATH, "the directories of the start URLs, with all below"),
                (Reach.DOMAIN, "all hosts of the start URLs' domains"),
                (Reach.ANYWHERE, "anywhere, within limits of hosts and of pages per host"),
            ),
            option="--scope",
        ),
    ] = Reach.HOST
    purpose: Annotated[
        Purpose,
        _choices_schema(Purpose),
        Question(
            label="Purpose",
            help="It decides which tab of the crawl is first.",
            meaning="what the crawl is for: archive, data or links; it sets fields that the order "
            "does not give (archive: `requisites`; links: `requisites` and `check_external`), and "
            "which tab of the crawl is first",
            choices=(
                (Purpose.NONE, "none"),
                (Purpose.ARCHIVE, "archive a site"),
                (Purpose.DATA, "collect data"),
                (Purpose.LINKS, "check links"),
            ),
            option="--for",
            metavar="PURPOSE",
        ),
    ] = Purpose.NONE
    order: Annotated[
        str,
        AfterValidator(_check_visit_order),
        ORDERS,
        Question(
            label="Order of visits",
            meaning="order of visits: breadth_first, depth_first, best_first, opic, focused, or "
            "one that an installed package adds",
            choices=ORDERS,
            option="--order",
        ),
    ] = Order.BREADTH_FIRST.value
    max_pages: Annotated[
        Count | None,
        Question(
            label="Pages",
            help="Including redirects. With Fetch page assets, files that pages load do not count; "
            "an error page in place of a file does.",
            meaning="maximum number of pages; with `requisites`, images and other files that pages "
            "load do not count, but an error page in place of one does; with 20 files for each "
            "page the run ends, too",
            option="--max-pages",
        ),
    ] = None
    max_depth: Annotated[
        Depth | None,
        Question(
            label="Depth",
            help="Links from the start; 0 fetches the start URLs only.",
            meaning="maximum number of links from a seed",
            option="--max-depth",
        ),
    ] = None
    max_bytes: Annotated[
        Bytes | None,
        Question(
            label="Megabytes",
            help="All documents together, and the files that rendered pages load.",
            meaning="maximum bytes of all documents, and of the files that rendered pages load",
            unit=MEGABYTES,
            option="--max-bytes",
        ),
    ] = None
    max_seconds: Annotated[
        Count | None,
        Question(
            label="Minutes",
            help="From the first fetch.",
            meaning="maximum seconds from the first fetch",
            unit=MINUTES,
            option="--max-seconds",
        ),
    ] = None
    delay_seconds: Annotated[
        float,
        Field(ge=0, le=3600, allow_inf_nan=False),
        NUMBER,
        Question(
            label="Delay per host, in seconds",
            help="Longer if the robots.txt of the site requires it.",
            meaning="delay between two fetches from a host, in seconds",
            option="--delay",
        ),
    ] = 1.0
    processes: Annotated[
        int,
        Field(ge=0, le=MOST_PROCESSES),
        NUMBER,
        Question(
            label="Parallel workers",
            help="They divide the hosts among themselves. Empty or 0: one, and each idle "
            "worker while the crawl has four hosts for each.",
            meaning="processes that divide the hosts, each with its own worker; 0: one, and "
            "one more per idle worker while there are four hosts for each",
            option="--processes",
        ),
    ] = 0
    batch_size: Annotated[
        int,
        Field(ge=1, le=MAX_BATCH_SIZE),
        NUMBER,
        Question(
            label="Batch size per host, in URLs",
            help="Larger batches are faster; smaller ones follow the order of visits more closely.",
            meaning="URLs of a host in one batch; larger is faster, smaller follows the order "
            "of visits more closely, and exact_order follows it exactly",
            option="--batch-size",
        ),
    ] = 100
    priority: Annotated[
        int,
        Field(ge=min(PRIORITIES), le=max(PRIORITIES)),
        NUMBER,
        Question(
            label="Priority for resources",
            help="-10 to 10: each step puts its starts a minute ahead of others; 10 is "
            "urgent and may use the reserved units.",
            meaning="priority for resources, -10 to 10: each step puts starts a minute ahead; "
            "10 is urgent and may use the reserved units",
            option="--priority",
        ),
    ] = 0
    idle_only: Annotated[
        bool,
        Question(
            label="Use idle capacity only",
            heading="Idle capacity",
            help="The crawl uses units that no other process waits for, and returns all within "
            "5 seconds of another's wait. Its priority is not used.",
            meaning="use only units that no other process waits for, and return them within 5 "
            "seconds of another's wait; priority is not used",
            option="--idle-only",
        ),
    ] = False
    pool: Annotated[
        str,
        Field(max_length=100, pattern=ONE_LINE),
        Question(
            label="Pool",
            help="The pool whose resources the crawl uses.",
            meaning="name of the pool whose resources the crawl uses; default: the default pool",
            option="--pool",
        ),
    ] = ""
    team: Annotated[
        str,
        Field(max_length=80, pattern=ONE_LINE),
        Question(
            label="Team",
            help="The team's limit and reserve of the pool apply from the next run.",
            meaning="name of the crawl's team: its limit and reserve of the pool apply",
            option="--team",
        ),
    ] = ""
    claim: Annotated[
        dict[str, Units],
        Question(
            meaning="resource limits (Max) by class; other classes have the pool's usual share",
            option="--claim",
            metavar="CLASS=UNITS",
        ),
    ] = Field(default_factory=dict)

    @field_validator("name")
    @classmethod
    def _refuse_number(cls, name: str) -> str:
        if name.isascii() and name.isdigit():
            raise ValueError(
                "must not be a number: crawls have numbers besides, and `crawl stop 2` must "
                "mean one of them"
            )
        return name

    @field_validator("seeds")
    @classmethod
    def _canonical_seeds(cls, seeds: list[str]) -> list[str]:
        addresses, wrong = read_seeds(seeds)
        if wrong:
            raise ValueError(mistakes_in_short(wrong))
        return [address.url for address in addresses]

    def mistakes(self) -> dict[str, str]:
        """Sentences by field about settings that exclude each other."""
        errors = self.budget_mistakes()
        if self.scope is Reach.ANYWHERE:
            errors |= self.guard_mistakes()
        if self.order == Order.FOCUSED and not self.topic:
            errors["topic"] = "is required by the order focused: give words or a text"
        if self.visits_a_day and not self.archive:
            errors["visits_a_day"] = (
                "requires the archive, from which pages are taken over that are not due: store "
                "answers (archive), or set it to 0"
            )
        return errors


#: the parts of an order that are each stored unchanged in a column of the crawl; the section about
#: requests contains secrets, and is stored by `crawling.runs.crawls.fetching_section`
PARTS: dict[str, type[BaseModel]] = {
    "filters": FiltersPart,
    "budget": BudgetPart,
    "ordering": OrderingPart,
    "politeness": PolitenessPart,
    "rendering": RenderingPart,
    "reuse": ReusePart,
    "thresholds": ThresholdsPart,
}
#: an order's fields with their questions; the order's own fields precede those of its parts
FIELDS = tuple(
    sorted(fields_of(CrawlOrder), key=lambda one: one.name not in CrawlOrder.__annotations__)
)

_IN_PARTS = {*FetchingPart.model_fields}.union(*(part.model_fields for part in PARTS.values()))
#: fields that are each stored in a column of the same name; the order of visits is stored as
#: `visit_order`, and Max as the completed claim
COLUMNS = tuple(one.name for one in FIELDS if one.name not in {*_IN_PARTS, "order", "claim"})

#: the most unknown fields for which similar names are sought, since this takes a millisecond for
#: each
MOST_SUGGESTIONS = 10


def _similar_fields_sentence(field: str) -> str:
    """A sentence with the field names that are most similar to an unknown one."""
    near = get_close_matches(field, CrawlOrder.model_fields)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def read_order(fields: Mapping[str, Any]) -> tuple[CrawlOrder | None, dict[str, str]]:
    """Return the order, or None and a sentence for each field. All mistakes are reported at
    once.
    """
    try:
        order = CrawlOrder.model_validate({**preset_of(fields.get("purpose")), **fields})
    except ValidationError as error:
        errors: dict[str, str] = {}
        for mistake in error.errors():
            field = ".".join(str(part) for part in mistake["loc"])
            sentence = sentence_for(mistake["type"], mistake.get("ctx", {}), mistake["msg"])
            if mistake["type"] == "extra_forbidden" and len(errors) < MOST_SUGGESTIONS:
                sentence += _similar_fields_sentence(field)
            errors.setdefault(field, sentence)
        return None, errors
    mistakes = order.mistakes()
    return (None, mistakes) if mistakes else (order, {})


def read_claim(value: object) -> dict[str, int]:
    """The claim in an order that has other mistakes, so that all mistakes can be reported at once.
    Empty if it is no claim at all.
    """
    try:
        return TypeAdapter(dict[str, Units]).validate_python(value)
    except ValidationError:
        return {}
