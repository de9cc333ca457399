"""Answers of the endpoints of a crawl's rules: tests of them, their revisions, the blocklist,
exceptions from robots.txt.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from serving.listing.columns import Column
from serving.schemas import Schema


class RuleCheckOut(Schema):
    """The decision of a crawl's rules on a URL; `rule` is empty if it is no URL."""

    url: str
    admits: bool
    rule: str
    number: int
    sentence: str
    hops: int = Field(description="links in a row outside the scope, this one included")


class RuleCheckList(Schema):
    revision: int
    items: list[RuleCheckOut]


@dataclass(frozen=True)
class RevisionRow:
    number: int
    at: datetime
    by: Annotated[str | None, Column("null: the command line", of="by.username")]
    changes: Annotated[dict[str, list[Any]], Column("from and to, by field")]


@dataclass(frozen=True)
class BlocklistRow:
    id: int
    kind: str
    text: str
    reason: str
    by: Annotated[str | None, Column("null: the command line", of="by.username")]
    created_at: datetime


class ExceptionOut(Schema):
    """Until `expires_at` the host's robots.txt does not bind the crawl."""

    id: int
    host: str
    reason: str
    by: str | None = Field(description="null: the command line")
    created_at: datetime
    expires_at: datetime
    holds: bool


class ExceptionList(Schema):
    items: list[ExceptionOut]
