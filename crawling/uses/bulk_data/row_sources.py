"""The rows of pages, texts, links and structured data. They are read while they are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
from django.db.models import Exists, Max, Min, OuterRef

from crawling.dashboard.pages.downloads import cell_value, rows_with_fields
from crawling.datasets.query import stream_query_rows
from crawling.datasets.reading_query import query_reading, reading_bytes, stream_reading_rows
from crawling.models import LinksPart, Page, Run, Url, WithdrawnPage
from crawling.uses.bulk_data.bulk_table import (
    FRACTION,
    MOMENT,
    NUMBER,
    TEXT,
    TRUTH,
    BulkColumn,
    BulkPlace,
    BulkRows,
    BulkStep,
    Cells,
    csv_size_of,
    pages_by_time,
    place_of_page,
)

#: the columns of a page that are numbers; all others are texts
KINDS_OF_FACTS = {
    **dict.fromkeys(
        (
            *("id", "status", "bytes", "depth", "warc_offset", "duplicate_of", "links"),
            *("rendering", "unchanged_since", "payload_from", "via", "backlinks", "attempts"),
        ),
        NUMBER,
    ),
    **dict.fromkeys(("fetch_seconds", "rank", "credit", "weight"), FRACTION),
    **dict.fromkeys(("fetched_at", "last_modified", "expires_at"), MOMENT),
    "needs_browser": TRUTH,
}
#: the number of places in a run from which a sample is taken, and of pages at each place
WINDOWS, WINDOW_PAGES = 10, 20
#: the number of pages whose texts are in memory at a time
TEXTS_AT_A_TIME = 50
TEXT_COLUMNS = (
    BulkColumn("page_id", NUMBER),
    BulkColumn("url"),
    BulkColumn("title"),
    BulkColumn("language"),
    BulkColumn("content_type"),
    BulkColumn("fetched_at", MOMENT),
    BulkColumn("headings"),
    BulkColumn("main_text"),
    BulkColumn("full_text"),
)
TEXT_ROWS = """
SELECT page_id, page, title, language, content_type, fetched_at, headings, text,
    concat_ws(' ', nullif(text, ''), nullif(around, '')) FROM texts WHERE {}
"""
HAS_TEXT = "title <> '' OR text <> '' OR around <> ''"
LINK_COLUMNS = (
    BulkColumn("page_id", NUMBER),
    BulkColumn("source"),
    BulkColumn("target"),
    BulkColumn("text"),
    BulkColumn("rel"),
    BulkColumn("status", NUMBER),
    BulkColumn("element"),
    BulkColumn("attribute"),
    BulkColumn("place"),
)
#: rows of links, without links to withdrawn pages, whose addresses they would show
LINK_ROWS = """
SELECT page_id, page, CASE WHEN links.fragment = '' THEN target ELSE target || '#' || fragment END,
    anchor, rel, nullif(wanted.status, 0), element, attribute, place
FROM links LEFT JOIN wanted ON wanted.fingerprint = target_fingerprint
WHERE wanted.withdrawn IS NOT TRUE
"""
TARGETS = "SELECT DISTINCT target_fingerprint FROM links"
#: the number of targets that are looked up at a time
TARGETS_AT_A_TIME = 10_000
DATA_COLUMNS = (
    BulkColumn("page_id", NUMBER),
    BulkColumn("url"),
    BulkColumn("item", NUMBER),
    BulkColumn("kind"),
    BulkColumn("type"),
    BulkColumn("property"),
    BulkColumn("value"),
    BulkColumn("width", NUMBER),
    BulkColumn("height", NUMBER),
    BulkColumn("is_cut", TRUTH),
)
DATA_ROWS = """
SELECT page_id, page, position + 1, kind, type, name, value, nullif(width, 0), nullif(height, 0),
    is_cut FROM structured
"""


def page_rows(run: Run, place: BulkPlace) -> BulkRows:
    """Rows of pages, with a column for each extraction rule."""
    return _page_rows(run, pages_by_time(run, place))


def sampled_row_sizes(run: Run) -> list[int]:
    """The sizes of rows from places all over the run, since the first pages of a site differ from
    the others.
    """
    return [csv_size_of(row) for row in _page_rows(run, _pages_by_key_range(run)).rows]


def _pages_by_key_range(run: Run) -> Iterator[Page]:
    pages = Page.objects.filter(run=run).select_related("url", "run__crawl", "archive_file")
    first, last = pages.aggregate(first=Min("pk"), last=Max("pk")).values()
    for number in range(WINDOWS if first else 0):
        start = first + (last - first) * number // WINDOWS
        yield from pages.filter(pk__gte=start).order_by("pk")[:WINDOW_PAGES]


def _page_rows(run: Run, pages: Iterator[Page]) -> BulkRows:
    names, rows = rows_with_fields(run, pages, cell_value)
    columns = [BulkColumn(name, KINDS_OF_FACTS.get(name, TEXT)) for name in names]
    steps = (
        BulkStep(place_of_page(row["fetched_at"], row["id"]), (tuple(row.values()),))
        for row in rows
    )
    return BulkRows(columns, steps)


def count_pages(run: Run) -> int:
    return Page.objects.filter(run=run).count()


def _steps_by_parts(
    run: Run, place: BulkPlace, rows: Callable[[LinksPart], Iterable[Cells]]
) -> Iterator[BulkStep]:
    """The rows of one part after the other. Reading a part takes a few seconds at most."""
    parts = LinksPart.objects.filter(run=run, written_at__isnull=False, pk__gt=place.after or 0)
    return (BulkStep(part.pk, rows(part)) for part in list(parts.order_by("pk")))


def text_rows(run: Run, place: BulkPlace) -> BulkRows:
    return BulkRows(TEXT_COLUMNS, _steps_by_parts(run, place, partial(_text_rows_of_part, run)))


def _text_rows_of_part(run: Run, part: LinksPart) -> Iterator[Cells]:
    query = TEXT_ROWS.format(HAS_TEXT)
    for row in stream_reading_rows(run, query, {}, part=part, at_a_time=TEXTS_AT_A_TIME):
        yield (*row[:5], datetime.fromtimestamp(row[5], UTC), *row[6:])


def text_sizes(run: Run) -> list[int]:
    """The mean size of all texts. The main text counts twice, since the file has it twice."""
    stored = reading_bytes(run, "texts", ("title", "headings", "text", "text", "around"))
    rows = count_texts(run)
    return [stored // rows] if rows else []


def count_texts(run: Run) -> int:
    counted = f"SELECT count(*) FROM texts WHERE {HAS_TEXT}"  # noqa: S608
    return _single_number(query_reading(run, counted, {}))


def link_rows(run: Run, place: BulkPlace) -> BulkRows:
    """Rows of links, with the status of each target that the run has tried."""
    return BulkRows(LINK_COLUMNS, _steps_by_parts(run, place, partial(_link_rows_of_part, run)))


def _link_rows_of_part(run: Run, part: LinksPart) -> Iterator[Cells]:
    yield from stream_query_rows(run, LINK_ROWS, _target_outcomes(run, part), part=part)


def _target_outcomes(run: Run, part: LinksPart) -> dict[str, np.ndarray]:
    """The URLs of the run to which links of the part lead: fingerprints, and the last status of
    each (0 if it has none).
    """
    marks = [mark for (mark,) in stream_query_rows(run, TARGETS, part=part)]
    starts = range(0, len(marks), TARGETS_AT_A_TIME)
    told = np.fromiter(
        (url for at in starts for url in _outcomes_of(run, marks[at : at + TARGETS_AT_A_TIME])),
        dtype=np.dtype([("fingerprint", np.int64), ("status", np.int64), ("withdrawn", np.bool_)]),
    )
    return {name: np.ascontiguousarray(told[name]) for name in told.dtype.names or ()}


def _outcomes_of(run: Run, fingerprints: Sequence[int]) -> Iterator[tuple[int, int, bool]]:
    urls = Url.objects.filter(run=run, fingerprint__in=fingerprints)
    withdrawn = Exists(WithdrawnPage.objects.filter(run=run, url=OuterRef("pk")))
    for mark, status, is_gone in urls.values_list("fingerprint", "status", withdrawn):
        yield mark, status or 0, is_gone


def data_rows(run: Run, place: BulkPlace) -> BulkRows:
    rows = _steps_by_parts(
        run, place, lambda part: stream_reading_rows(run, DATA_ROWS, {}, part=part)
    )
    return BulkRows(DATA_COLUMNS, rows)


def count_data(run: Run) -> int:
    return _single_number(query_reading(run, "SELECT count(*) FROM structured", {}))


def _single_number(rows: list[tuple[Any, ...]]) -> int:
    return int(rows[0][0])
