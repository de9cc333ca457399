"""What an order may say of how URLs are weighed against each other (SEEDS B4, W4)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, field_validator

from crawling.orders.fields import NUMBER, Text
from crawling.web.expressions import check_expressions

#: each is asked of every link
MOST_WEIGHTS = 50

Weight = Annotated[float, Field(ge=-1_000_000, le=1_000_000, allow_inf_nan=False), NUMBER]


class OrderingPart(BaseModel):
    """Of two URLs that wait, best-first takes the one of the greater links_weight x pages that link
    to it + url_weight x importance.

    importance: expression -> weight; a URL's importance is the sum of the weights of the
    expressions that it holds. path_ascending: with every URL those of the directories above it are
    queued, too, in any order of visits.
    """

    links_weight: Weight = 1.0
    url_weight: Weight = 1.0
    importance: Annotated[dict[Text, Weight], Field(max_length=MOST_WEIGHTS)] = Field(
        default_factory=dict
    )
    path_ascending: bool = False

    @field_validator("importance")
    @classmethod
    def _importance_expressions(cls, weights: dict[str, float]) -> dict[str, float]:
        check_expressions(weights)
        return weights
