"""An order's settings for reading pages and storing results."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, field_validator

from crawling.orders.fields import ONE_LINE, Question, Text
from crawling.web.documents.css_selectors import BadSelector, read_selector

#: extraction rules of an order
MAX_RULES = 50
MAX_NAME_LENGTH = 100
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH, pattern=ONE_LINE)]


class ReadingPart(BaseModel):
    """Links are followed and answers are archived, unless it says otherwise."""

    archive: Annotated[
        bool,
        Question(
            label="Archive",
            help="In WARC files, which other tools read, too; pages can be viewed as they were.",
            meaning="keep every answer as it came, in WARC files",
            choices=(
                ("true", "Keep every answer as it came"),
                ("false", "Keep only what is found"),
            ),
            option="--no-archive",
        ),
    ] = True
    obey_nofollow: Annotated[
        bool,
        Question(
            label="Leave links alone that are marked nofollow",
            help="And all links of pages that are marked so.",
            meaning="leave links marked nofollow alone, and all links of pages so marked",
            option="--obey-nofollow",
        ),
    ] = False
    requisites: Annotated[
        bool,
        Question(
            label="Fetch what pages are shown with, too",
            help="Images, sheets, scripts, sound and film within the scope.",
            meaning="fetch images, sheets, scripts and media, too, like any link",
            option="--requisites",
        ),
    ] = False
    extract: Annotated[
        dict[Name, Text],
        Field(max_length=MAX_RULES),
        Question(
            label="Take out of every page",
            help="One rule a line: a name, =, and a CSS selector, like price = span.price or "
            "picture = img::attr(src).",
            meaning="take what the CSS selector matches out of pages; `::attr(NAME)` behind it "
            "takes an attribute",
            rows=3,
            option="--extract",
            metavar="NAME=SELECTOR",
        ),
    ] = Field(default_factory=dict)

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
