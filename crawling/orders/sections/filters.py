"""What an order may say of the URLs and documents that it wants."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, Field, field_validator

from crawling.orders.fields import NUMBER, Bytes, Text
from crawling.web.expressions import check_expressions

#: each is asked of every new link
MOST_EXPRESSIONS = 50
MOST_HOPS = 100
MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/(\*|[a-z0-9!#$&^_.+-]+)")

Expressions = Annotated[list[Text], Field(max_length=MOST_EXPRESSIONS)]


class FiltersPart(BaseModel):
    """Empty means: all. Seeds pass all of these but the last two, since they are asked for by name.

    schemes: of URLs. include: a URL must hold one of these expressions. exclude: it must hold none
    of these. off_site_hops: links in a row that may lead outside the scope.
    types: of documents, like `text/html` or `image/*`; of others only the answer's head is read.
    max_document_bytes: of larger documents no more is read.
    """

    schemes: list[Literal["http", "https"]] = Field(default_factory=list)
    include: Expressions = Field(default_factory=list)
    exclude: Expressions = Field(default_factory=list)
    off_site_hops: Annotated[int, Field(ge=0, le=MOST_HOPS), NUMBER] = 0
    types: Annotated[list[Text], Field(max_length=MOST_EXPRESSIONS)] = Field(default_factory=list)
    max_document_bytes: Bytes | None = None

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
