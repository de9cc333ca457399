"""The part of an order about the order of visits (SEEDS B4, W4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, Field, field_validator

from crawling.orders.fields import NUMBER, ONE_LINE, Question, Text
from crawling.web.expressions import check_expressions

#: the most weights, since each link is compared with all of them
MOST_WEIGHTS = 50
MOST_TOPIC_LINES = 100
#: the most example pages, which each shift reads before it begins
MOST_EXAMPLES = 10

#: a word of the topic, the text of an example page, or its URL
TopicLine = Annotated[str, Field(min_length=1, max_length=5_000, pattern=ONE_LINE)]
Weight = Annotated[float, Field(ge=-1_000_000, le=1_000_000, allow_inf_nan=False), NUMBER]


def example_urls(lines: Sequence[str]) -> list[str]:
    """Those lines of a topic that are only a URL."""
    return [
        line
        for line in lines
        if line.startswith(("http://", "https://")) and not any(map(str.isspace, line))
    ]


class OrderingPart(BaseModel):
    """Best-first takes the waiting URL with the greatest value of links_weight x pages that link to
    it + url_weight x importance. A focused crawl takes the URL whose links are most similar to the
    topic.
    """

    exact_order: Annotated[
        bool,
        Question(
            label="Exact order",
            help="Fetches the first URL of all hosts in the order of visits next, once the "
            "page before it is parsed: one worker, one fetch thread, one URL at a "
            "time. Slow, as it waits for the delay of each host.",
            meaning="fetch the first URL of all hosts in the order of visits next: one "
            "process, one fetch thread and batches of one, whatever other fields say",
            option="--exact-order",
        ),
    ] = False
    links_weight: Annotated[
        Weight,
        Question(
            label="Weight of links",
            help="Best first: multiplies the number of known pages that link to a URL.",
            meaning="best first: weight of each page that links to a URL",
            above="",
        ),
    ] = 1.0
    url_weight: Annotated[
        Weight,
        Question(
            label="Weight of the URL",
            help="Best first: multiplies the importance of a URL, below.",
            meaning="best first: factor of the importance of a URL",
        ),
    ] = 1.0
    importance: Annotated[
        dict[Text, Weight],
        Field(max_length=MOST_WEIGHTS),
        Question(
            label="Importance of URLs",
            help="One rule per line: a part of a URL or a regular expression (RE2), =, and "
            "a number, like /manual/ = 10. The numbers of all rules that match a URL "
            "are added; they may be negative.",
            meaning="best first: number for a part of a URL or a regular expression; the "
            "numbers of all that match are added",
            rows=3,
            option="--importance",
            metavar="TEXT=WEIGHT",
        ),
    ] = Field(default_factory=dict)
    topic: Annotated[
        list[TopicLine],
        Field(max_length=MOST_TOPIC_LINES),
        Question(
            label="Topic",
            help="Focused: words, texts of example pages, or URLs of example pages that are stored "
            "already, of any crawl; one per line. Each line counts the same. After an edit, new "
            "links are judged by the new topic; URLs that wait keep their similarity until another "
            "link raises it.",
            meaning="focused: words, texts of example pages, or URLs of stored ones "
            f"({MOST_EXAMPLES} at most), whose words pages and links are compared with; each "
            "counts the same",
            rows=3,
            option="--topic",
            metavar="TEXT",
        ),
    ] = Field(default_factory=list)
    path_ascending: Annotated[
        bool,
        Question(
            label="Fetch parent directories",
            help="With /a/b/page also /a/b/, /a/ and /, in any order of visits: they may "
            "list pages that nothing links to.",
            meaning="also fetch the parent directories of each URL, in any order of visits",
            option="--path-ascending",
        ),
    ] = False

    @field_validator("topic")
    @classmethod
    def _check_examples(cls, lines: list[str]) -> list[str]:
        if len(example_urls(lines)) > MOST_EXAMPLES:
            raise ValueError(f"has more than {MOST_EXAMPLES} URLs of example pages")
        return lines

    @field_validator("importance")
    @classmethod
    def _check_weights(cls, weights: dict[str, float]) -> dict[str, float]:
        check_expressions(weights)
        return weights
