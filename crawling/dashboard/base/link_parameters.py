"""Parameters of lists that are read of datasets: where a list goes on, and a page by address."""

from __future__ import annotations

from crawling.base.errors import BadOrder
from crawling.web.addresses import BadUrl, read_address


def key_of(after: str) -> tuple[int, int]:
    """The place behind which a list goes on. Raises BadOrder."""
    try:
        page_id, position = map(int, after.split("-")) if after else (-1, -1)
    except ValueError as error:
        raise BadOrder({"cursor": "It is no `next` of a page before."}) from error
    return page_id, position


def canonical_or_empty(name: str, text: str) -> str:
    """Raises BadOrder."""
    try:
        return read_address(text.partition("#")[0]).url if text else ""
    except BadUrl as error:
        raise BadOrder({name: f"It is no whole URL: {error}."}) from error
