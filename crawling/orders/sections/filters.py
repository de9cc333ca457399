"""An order's rules on URLs and documents."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator

from crawling.orders.fields import MEGABYTES, NUMBER, Bytes, Question, Text
from crawling.web.expressions import check_expressions

#: the most expressions, since each new link is compared with all of them
MOST_EXPRESSIONS = 50
MOST_HOPS = 100
MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/(\*|[a-z0-9!#$&^_.+-]+)")

Expressions = Annotated[list[Text], Field(max_length=MOST_EXPRESSIONS)]


class FiltersPart(BaseModel):
    """An empty filter matches everything. Seeds pass the filters for URLs, since users name them
    explicitly.
    """

    schemes: Annotated[
        list[Literal["http", "https"]],
        Question(
            label="Schemes",
            meaning="schemes of URLs, http or https; default: both",
            choices=(("", "http and https"), ("https", "https only"), ("http", "http only")),
        ),
    ] = Field(default_factory=list)
    off_site_hops: Annotated[
        int,
        Field(ge=0, le=MOST_HOPS),
        NUMBER,
        Question(
            label="Links outside the scope",
            help="Consecutive links; empty or 0 stays in the scope. With the scope "
            "anywhere: consecutive links off the domains of the start URLs; empty or "
            "0 is no limit.",
            meaning="maximum consecutive links outside the scope; with the scope anywhere: off "
            "the seeds' domains, 0 is no limit",
            option="--off-site-hops",
        ),
    ] = 0
    check_external: Annotated[
        bool,
        Question(
            label="Check external links",
            help="Pages to which links lead out of the scope are asked for, but only the header of "
            "their answer is read; with the assets of pages, images on other sites, too. Each is "
            "tried once, and a host that does not answer is given up after a minute.",
            meaning="ask whether links out of the scope work: of the answer only the header is "
            "read, without a retry",
            option="--check-external",
        ),
    ] = False
    max_document_bytes: Annotated[
        Bytes | None,
        Question(
            label="Megabytes per document",
            heading="Largest document",
            help="Larger documents are not stored.",
            meaning="largest document in bytes; larger ones are not stored",
            unit=MEGABYTES,
        ),
    ] = None
    skip_copies: Annotated[
        bool,
        Question(
            label="Skip duplicates",
            help="A page with the content of an earlier page of the run is stored, but not "
            "parsed: its links are not followed. Relative links of a duplicate may "
            "lead elsewhere than those of the first page.",
            meaning="do not parse a page with the content of an earlier page of the run; its "
            "links are not followed",
            option="--skip-copies",
        ),
    ] = False
    include: Annotated[
        Expressions,
        Question(
            label="Only URLs that match one of these expressions",
            heading="Only URLs that match",
            help="One regular expression (RE2) per line, like /manual/|/faq/.",
            meaning="accept only URLs that match one of these expressions",
            option="--include",
            metavar="REGEX",
        ),
    ] = Field(default_factory=list)
    exclude: Annotated[
        Expressions,
        Question(
            label="No URLs that match one of these expressions",
            heading="No URLs that match",
            help="One per line, like \\.zip$ or [?&]print=1. These override the expressions above.",
            meaning="exclude URLs that match this expression",
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
            help="One per line, like text/html or image/*. Of other documents only the "
            "header is read.",
            meaning="media types to fetch, like `text/html` or `image/*`; of others only the "
            "header is read. Sitemaps that robots.txt or an index names, and seeds whose root "
            "element is that of a sitemap, are read whatever their type",
            above="",
        ),
    ] = Field(default_factory=list)

    @field_validator("include", "exclude")
    @classmethod
    def _check_expressions(cls, texts: list[str]) -> list[str]:
        check_expressions(texts)
        return list(dict.fromkeys(texts))

    @field_validator("types")
    @classmethod
    def _check_media_types(cls, types: list[str]) -> list[str]:
        lowered = [text.lower() for text in types]
        wrong = [text for text in lowered if not MEDIA_TYPE.fullmatch(text)]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is no media type; write it like text/html or image/*")
        return list(dict.fromkeys(lowered))
