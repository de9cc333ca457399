"""Time limits for reads that may have to examine every page of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper
from psycopg.errors import QueryCanceled

from crawling.base.errors import CrawlError

SEARCH_SECONDS = 5


class SearchTookTooLong(CrawlError):
    """The search read pages for 5 seconds and was broken off; name a status, or a longer piece of
    the address.
    """


@contextmanager
def time_limit(
    seconds: int = SEARCH_SECONDS, exceeded: type[CrawlError] = SearchTookTooLong
) -> Iterator[CursorWrapper]:
    """A transaction, and a cursor in it. Each statement may take `seconds`.

    PostgreSQL cancels a statement that takes longer, which frees the server, and `exceeded` is
    raised.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = '{seconds}s'")
            yield cursor
    except OperationalError as error:
        if not isinstance(error.__cause__, QueryCanceled):
            raise
        raise exceeded from error
