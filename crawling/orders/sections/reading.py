"""An order's settings for reading pages and storing results."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, field_validator

from crawling.orders.fields import ONE_LINE, Question, Text
from crawling.web.documents.css_selectors import BadSelector, read_selector

#: the most extraction rules of an order
MAX_RULES = 50
MAX_NAME_LENGTH = 100
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH, pattern=ONE_LINE)]
#: separates the name of an extractor from its revision
REVISION_MARK = "@"


class ReadingPart(BaseModel):
    """By default, links are followed and answers are archived."""

    archive: Annotated[
        bool,
        Question(
            label="Archive",
            help="WARC files, which other tools read; pages can be viewed as snapshots.",
            meaning="store every answer in WARC files",
            choices=(("true", "Store every answer"), ("false", "Store results only")),
            option="--no-archive",
        ),
    ] = True
    obey_nofollow: Annotated[
        bool,
        Question(
            label="Respect nofollow",
            help="Links marked nofollow, and links of pages marked nofollow, are not followed.",
            meaning="do not follow links marked nofollow, nor links of pages marked nofollow",
            option="--obey-nofollow",
        ),
    ] = False
    requisites: Annotated[
        bool,
        Question(
            label="Fetch page assets",
            help="Each is one more request at the delay of its host, and a page often has dozens. "
            "Images, style sheets, scripts, audio and video within the scope do not count "
            "towards the limit of pages of the crawl, but towards those of each host and domain. "
            "At most 20 for each page of that limit are fetched; then the run ends.",
            meaning="fetch page assets (images, style sheets, scripts, media) within the scope",
            option="--requisites",
        ),
    ] = False
    extractor: Annotated[
        str,
        Field(max_length=MAX_NAME_LENGTH + 12, pattern=ONE_LINE),
        Question(
            label="Extractor",
            help="Rules that are saved under a name; own rules come on top of them.",
            meaning="name of an extractor, whose rules of now go into `extract`; `NAME@3` takes "
            "those of its revision 3",
            option="--extractor",
            metavar="NAME",
        ),
    ] = ""
    extract: Annotated[
        dict[Name, Text],
        Field(max_length=MAX_RULES),
        Question(
            label="Extract fields",
            help="One rule per line: a name, =, and a CSS selector, like price = "
            "span.price or picture = img::attr(src). ::number, ::price, ::date or ::list at its "
            "end is the type of the field.",
            meaning="extract what the CSS selector matches; `::attr(NAME)` behind it extracts "
            "an attribute (addresses, as of `href`, in full), and `::number`, `::price`, `::date`, "
            "`::list` or `::text` at the end is the type of the field",
            rows=3,
            option="--extract",
            metavar="NAME=SELECTOR",
        ),
    ] = Field(default_factory=dict)

    @field_validator("extract", mode="before")
    @classmethod
    def _check_separators(cls, rules: object) -> object:
        """Report a line without the separator, which is a name without a selector."""
        bare = (
            [name for name, rule in rules.items() if rule == ""] if isinstance(rules, dict) else []
        )
        if bare:
            name, _, selector = str(bare[0])[:MAX_NAME_LENGTH].partition(" ")
            raise ValueError(
                f"“{bare[0]}” has no “=”; write a name, “=” and a selector in each line, like "
                f"{name or 'price'} = {selector or 'span.price'}"
            )
        return rules

    @field_validator("extract")
    @classmethod
    def _check_selectors(cls, rules: dict[str, str]) -> dict[str, str]:
        wrong = []
        for rule in rules.values():
            try:
                read_selector(rule)
            except BadSelector as error:
                wrong.append(str(error))
        if wrong:
            raise ValueError("; ".join(wrong[:3]))
        return rules


def read_reference(text: str) -> tuple[str, int | None]:
    """Name and revision of an extractor, from the text in an order; None for the newest
    revision.
    """
    name, mark, number = text.strip().rpartition(REVISION_MARK)
    if mark and number.isascii() and number.isdigit() and len(number) <= 9:
        return name.strip(), int(number)
    return text.strip(), None


def revision_in_words(reference: str) -> str:
    """The reference in words."""
    name, revision = read_reference(reference)
    return name if revision is None else f"{name}, revision {revision}"
