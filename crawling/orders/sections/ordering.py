"""What an order may say of how URLs are weighed against each other (SEEDS B4, W4)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, field_validator

from crawling.orders.fields import NUMBER, Question, Text
from crawling.web.expressions import check_expressions

#: each is asked of every link
MOST_WEIGHTS = 50

Weight = Annotated[float, Field(ge=-1_000_000, le=1_000_000, allow_inf_nan=False), NUMBER]


class OrderingPart(BaseModel):
    """Of two URLs that wait, best-first takes the one of the greater links_weight x pages that link
    to it + url_weight x importance.
    """

    exact_order: Annotated[
        bool,
        Question(
            label="Exact order",
            help="Of all hosts, the URL that is first in the order is fetched next, alone, once "
            "the page before it is read: one worker, one fetch thread, one URL at a time. Slow: it "
            "waits for the delay of each host.",
            meaning="of all hosts, fetch the URL that is first in the order of visits next, alone: "
            "one process, one fetch thread and batches of one, whatever else the order says",
            option="--exact-order",
        ),
    ] = False
    links_weight: Annotated[
        Weight,
        Question(
            label="Weight of links",
            help="Best first: of the number of pages known to link to an address.",
            meaning="best first: what a page that links to a URL is worth",
            above="",
        ),
    ] = 1.0
    url_weight: Annotated[
        Weight,
        Question(
            label="Weight of the address",
            help="Best first: of what the lines below say of an address.",
            meaning="best first: what the importance of a URL is multiplied by",
        ),
    ] = 1.0
    importance: Annotated[
        dict[Text, Weight],
        Field(max_length=MOST_WEIGHTS),
        Question(
            label="Importance of addresses",
            help="One rule a line: a piece of an address or a regular expression (RE2), =, and "
            "a number, like /manual/ = 10. The numbers of all rules that are found in an address "
            "are added up; they may be negative.",
            meaning="best first: what a piece of an address, or a regular expression that it "
            "holds, is worth; the weights are added up",
            rows=3,
            option="--importance",
            metavar="TEXT=WEIGHT",
        ),
    ] = Field(default_factory=dict)
    path_ascending: Annotated[
        bool,
        Question(
            label="Fetch the directories above each address, too",
            help="With /a/b/page also /a/b/, /a/ and /, in any order of visits: what nothing "
            "links to may be listed there.",
            meaning="fetch the directories above each address, too, in any order of visits",
            option="--path-ascending",
        ),
    ] = False

    @field_validator("importance")
    @classmethod
    def _importance_expressions(cls, weights: dict[str, float]) -> dict[str, float]:
        check_expressions(weights)
        return weights
