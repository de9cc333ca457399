"""Parameters of requests (pages and filters of lists, orders and their changes), and the
permissions that endpoints about crawls require.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from ninja import Path, Query
from pydantic import AfterValidator, AwareDatetime, WithJsonSchema

from crawling.base.errors import BadOrder
from crawling.orders.order import CrawlOrder
from crawling.runs.crawls.revisions import EDITABLE
from crawling.web.addresses import BadUrl, read_address
from serving.access import needs

may_view = needs("crawling.view_crawljob")
may_add = needs("crawling.add_crawljob")
may_change = needs("crawling.change_crawljob")
may_delete = needs("crawling.delete_crawljob")

LARGEST = 2**63 - 1
#: PostgreSQL stores no NUL
TEXT = r"^[^\x00]*$"

CrawlId = Annotated[int, Path(ge=1, le=LARGEST)]
Against = Annotated[int, Query(ge=1, le=2**31 - 1, description="the number of the earlier run")]
Cursor = Annotated[
    int | None,
    Query(ge=0, le=LARGEST, description="`next` of the previous page; omit it for the first"),
]
Limit = Annotated[int, Query(ge=1, le=200, description="rows per page")]
Text = Annotated[str, Query(max_length=200, pattern=TEXT)]


def _in_utc(moment: datetime) -> datetime:
    """The moment in UTC. PostgreSQL refuses offsets of sixteen hours or more, while pydantic
    accepts up to a day.
    """
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("must be between the years 1 and 9999, in UTC") from error


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
Since = Annotated[Moment | None, Query(description="from this moment on")]
Until = Annotated[Moment | None, Query(description="before this moment")]
RunNumber = Annotated[
    int | None,
    Query(ge=1, le=2**31 - 1, description="number of a run of the crawl; default: the latest"),
]
PageStatus = Annotated[
    str,
    Query(
        pattern=r"^([1-9]\d\d|[1-9]xx)?$", description="a status such as 404, or all of a kind: 4xx"
    ),
]
IsUnread = Annotated[
    bool,
    Query(alias="unread", description="only pages that were not read completely"),
]

KeepSeconds = Annotated[
    float | None,
    Query(
        gt=0,
        le=86_400,
        description="seconds to keep its units reserved, if the state stays safe",
    ),
]

ORDER = CrawlOrder.model_json_schema()
TAGS = {
    "type": "array",
    "items": {"type": "string"},
    "description": "words to find the crawl by; they are no part of the order",
}
WITH_TAGS = {**ORDER, "properties": {**ORDER["properties"], "tags": TAGS}}
EXAMPLE = {
    "name": "Manuals",
    "seeds": ["https://example.org/manual/"],
    "scope": "path",
    "max_pages": 1000,
    "max_depth": 5,
    "delay_seconds": 1.0,
    "claim": {"fetch_slots": 4, "bandwidth": 2048},
}
CHANGES = {
    "title": "Changes",
    "type": "object",
    "description": "Fields of the order that may be edited at any time; an active run follows "
    "within seconds.",
    "properties": {
        "revision": {
            "type": "integer",
            "minimum": 1,
            "description": "revision on which the changes are based: if it is no longer the "
            "latest, nothing is changed. Without it, the given fields are set whatever their "
            "present values; other fields stay",
        },
        **{name: ORDER["properties"][name] for name in EDITABLE},
    },
    "additionalProperties": False,
    "examples": [{"max_pages": 2000, "delay_seconds": 2.0}],
}

#: read by `crawling.orders.order`, as on pages and on the command line, so that all mistakes are
#: reported at once and in the same words
Order = Annotated[dict[str, Any], WithJsonSchema({**WITH_TAGS, "examples": [EXAMPLE]})]
Changes = Annotated[dict[str, Any], WithJsonSchema(CHANGES)]


def key_of(after: str) -> tuple[int, int]:
    """The place after which a list continues. Raises BadOrder."""
    try:
        page_id, position = map(int, after.split("-")) if after else (-1, -1)
    except ValueError as error:
        raise BadOrder({"cursor": "It is no `next` of a page before."}) from error
    return page_id, position


def canonical_or_empty(name: str, text: str) -> str:
    """The address in its canonical form; "" for an empty one. name: the parameter, for the error.
    Raises BadOrder.
    """
    try:
        return read_address(text.partition("#")[0]).url if text else ""
    except BadUrl as error:
        raise BadOrder({name: f"It is no whole URL: {error}."}) from error
