"""The one way in which the dataset is asked: DuckDB over the parts of a run, read only, with limits
of memory and time.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import duckdb

from crawling.errors import CrawlError
from crawling.links.parquet import COLUMNS, engine
from crawling.models import LinksPart, Run
from crawling.storage import storage

#: of a question of a page or an endpoint; three million links take one to four on a busy machine
SECONDS = 10.0
#: takes the place of the parts of a run that has none
NO_LINKS = ", ".join(
    f"NULL::{'BIGINT' if column in ('page_id', 'position') else 'VARCHAR'} AS {column}"
    for column in COLUMNS
)


class LinkSearchTookTooLong(CrawlError):
    """The links of this run were read for 10 seconds and that was broken off; name a page or a
    target, or export them.
    """


def parts_of(run: Run) -> list[str]:
    """The paths of the parts of a run that are on this machine."""
    parts = LinksPart.objects.filter(run=run, written_at__isnull=False, links__gt=0)
    names = parts.order_by("pk").values_list("name", flat=True)
    return [str(storage().path(name)) for name in names if storage().size(name) is not None]


def ask(
    run: Run, query: str, values: Mapping[str, Any] | None = None, *, seconds: float = SECONDS
) -> list[tuple[Any, ...]]:
    """The rows of a query over the table `links`. Raises LinkSearchTookTooLong.

    query: ours; what users send goes into `values`, whose names stand with a $ in it.
    """
    paths = parts_of(run)
    with engine(reads=paths) as connection:
        connection.execute(f"CREATE TEMP VIEW links AS {_source(paths)}")
        timer = threading.Timer(seconds, connection.interrupt)
        timer.start()
        try:
            return connection.execute(query, dict(values or {})).fetchall()
        except (duckdb.InterruptException, duckdb.OutOfMemoryException) as error:
            raise LinkSearchTookTooLong from error
        finally:
            timer.cancel()


def _source(paths: list[str]) -> str:
    if not paths:
        return f"SELECT {NO_LINKS} WHERE false"
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return f"SELECT * FROM read_parquet([{listed}])"  # noqa: S608 - paths of our own
