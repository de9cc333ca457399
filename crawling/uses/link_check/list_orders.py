"""The orders of the lists of links, media and hosts, and the number of their rows. A page of a list
begins after the sort value and the key of the previous page's last row, so its cost does not depend
on its position.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from crawling.base.errors import BadOrder, CrawlError
from crawling.datasets.query import query_links
from crawling.models import Run
from serving.paging import MOST_NUMBERED, as_bounded


class LinkSort(StrEnum):
    PAGE = "page"
    PAGE_FALLING = "-page"
    TARGET = "target"
    TARGET_FALLING = "-target"
    TEXT = "text"
    TEXT_FALLING = "-text"


class MediaSort(StrEnum):
    ADDRESS = "address"
    ADDRESS_FALLING = "-address"
    PAGES = "pages"
    PAGES_FALLING = "-pages"
    WITHOUT_TEXT = "without_text"
    WITHOUT_TEXT_FALLING = "-without_text"


class HostSort(StrEnum):
    HOST = "host"
    HOST_FALLING = "-host"
    LINKS = "links"
    LINKS_FALLING = "-links"


class TooManyMedia(CrawlError):
    """A run shows more than 2,500,000 images and other media, too many to be sorted by their pages;
    sort by address.
    """


class ListOrder(NamedTuple):
    """The order of rows by an expression; rows with equal values are ordered by their unique
    keys.
    """

    expression: str
    is_falling: bool
    #: the expressions of the unique keys, ascending
    keys: tuple[str, ...]

    @classmethod
    def from_sort(cls, sort: str, columns: Mapping[str, str], *keys: str) -> ListOrder:
        """The order for a sort. columns: the expression for each sort."""
        return cls(columns[sort.lstrip("-")], sort.startswith("-"), keys)

    @property
    def is_by_key(self) -> bool:
        return self.expression in self.keys

    @property
    def terms(self) -> str:
        first = f"{self.expression} DESC" if self.is_falling else self.expression
        return ", ".join([first, *(key for key in self.keys if key != self.expression)])

    def behind(self, value: str, *keys: str) -> str:
        """The condition on rows after the row with this value and these keys (`$name`)."""
        beyond = f"{self.expression} {'<' if self.is_falling else '>'} {value}"
        if self.is_by_key:
            return beyond
        later = f"({', '.join(self.keys)}) > ({', '.join(keys)})"
        return f"({beyond} OR {self.expression} = {value} AND {later})"


def read_sort_key(after: str) -> tuple[int, str]:
    """The number and the text in `7-http://…`, after which a list continues. Raises BadOrder."""
    number, dash, text = after.partition("-")
    if not (dash and number.isascii() and number.isdigit() and len(number) < 19):
        raise BadOrder({"cursor": "It is no `next` of a page before."})
    return int(number), text


def count_rows(run: Run, what: str, condition: str, values: Mapping[str, Any]) -> int:
    """The number of distinct values of `what` (`target_host`; `*` for links), a BoundedCount if
    there are very many.

    Raises LinkSearchTookTooLong.
    """
    shown = "1" if what == "*" else f"DISTINCT {what}"
    rows = f"SELECT {shown} FROM links WHERE {condition} LIMIT {MOST_NUMBERED + 1}"  # noqa: S608
    counted = query_links(run, f"SELECT count(*) FROM ({rows})", values)  # noqa: S608
    return as_bounded(counted[0][0])
