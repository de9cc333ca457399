"""An order's rules on URLs and documents."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator

from crawling.orders.fields import MEGABYTES, NUMBER, Bytes, Question, Text
from crawling.web.expressions import check_expressions

#: each is asked of every new link
MOST_EXPRESSIONS = 50
MOST_HOPS = 100
MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/(\*|[a-z0-9!#$&^_.+-]+)")

Expressions = Annotated[list[Text], Field(max_length=MOST_EXPRESSIONS)]


class FiltersPart(BaseModel):
    """Empty means: all. Seeds pass the filters for URLs, since they are asked for by name."""

    schemes: Annotated[
        list[Literal["http", "https"]],
        Question(
            label="Schemes",
            meaning="of URLs, http or https; none named: both",
            choices=(("", "http and https"), ("https", "https only"), ("http", "http only")),
        ),
    ] = Field(default_factory=list)
    off_site_hops: Annotated[
        int,
        Field(ge=0, le=MOST_HOPS),
        NUMBER,
        Question(
            label="Links outside the scope",
            help="In a row; empty or 0 stays within it. If links may lead anywhere: links in a row "
            "off the domains of the start; empty or 0 is no limit.",
            meaning="links in a row that may lead outside the scope; with the scope anywhere: off "
            "the seeds' domains, and 0 is no limit",
            option="--off-site-hops",
        ),
    ] = 0
    max_document_bytes: Annotated[
        Bytes | None,
        Question(
            label="Megabytes a document",
            heading="Largest document",
            help="Of larger ones nothing is kept.",
            meaning="of larger documents no more is read, and nothing is kept",
            unit=MEGABYTES,
        ),
    ] = None
    skip_copies: Annotated[
        bool,
        Question(
            label="Leave copies unread",
            help="A page with exactly the content of an earlier page of the run is kept, but not "
            "parsed, and its links are not followed. Relative links of a copy may lead elsewhere "
            "than those of the page that had the content first.",
            meaning="do not parse a page with exactly the content of an earlier page of the run, "
            "and follow none of its links",
            option="--skip-copies",
        ),
    ] = False
    include: Annotated[
        Expressions,
        Question(
            label="Only addresses that hold one of these expressions",
            heading="Only addresses with",
            help="One regular expression (RE2) a line, like /manual/|/faq/.",
            meaning="only addresses that hold one such expression",
            option="--include",
            metavar="REGEX",
        ),
    ] = Field(default_factory=list)
    exclude: Annotated[
        Expressions,
        Question(
            label="No addresses that hold one of these expressions",
            heading="No addresses with",
            help="One a line, like \\.zip$ or [?&]print=1. They win over the others.",
            meaning="no addresses that hold this expression",
            option="--exclude",
            metavar="REGEX",
        ),
    ] = Field(default_factory=list)
    types: Annotated[
        list[Text],
        Field(max_length=MOST_EXPRESSIONS),
        Question(
            label="Only documents of these types",
            heading="Only types",
            help="One a line, like text/html or image/*; of others only the answer's head is read.",
            meaning="of documents, like `text/html` or `image/*`; of others only the answer's "
            "head is read",
            above="",
        ),
    ] = Field(default_factory=list)

    @field_validator("include", "exclude")
    @classmethod
    def _expressions(cls, texts: list[str]) -> list[str]:
        check_expressions(texts)
        return list(dict.fromkeys(texts))

    @field_validator("types")
    @classmethod
    def _media_types(cls, types: list[str]) -> list[str]:
        lowered = [text.lower() for text in types]
        wrong = [text for text in lowered if not MEDIA_TYPE.fullmatch(text)]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is no media type; write it like text/html or image/*")
        return list(dict.fromkeys(lowered))
