"""The structured data of a run: counts by kind, rows with a filter, and files of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from crawling.dashboard.base.api_parameters import canonical_or_empty, key_of
from crawling.datasets.lag import Derived, lag_of
from crawling.datasets.reading_query import query_reading, reading_parquet, stream_reading_rows
from crawling.models import LinksPart, Page, Run
from crawling.web.structured_rows import DataKind
from serving.downloads import PARQUET, Download, row_file
from serving.listing.columns import Column, columns_of

#: kinds with one named property in each row; rows of other kinds are distinguished by their types
NAMED = (DataKind.METADATA, DataKind.OPEN_GRAPH, DataKind.DUBLIN_CORE)
#: kinds with a width and a height in each row
SIZED = (DataKind.TABLE, DataKind.IMAGE)
#: the most types or names of a kind that are counted, the most frequent first
MOST_FACETS = 50


@dataclass(frozen=True)
class StructuredRow:
    page: Annotated[str, Column("the URL of the page")]
    kind: DataKind
    type: Annotated[
        str,
        Column("of items and images; of entries the kind of feed; of contacts where they stand"),
    ]
    name: Annotated[
        str,
        Column(
            "of metadata and properties theirs; of an item its name, of an entry its title, of an "
            "image its text, of a table its caption"
        ),
    ]
    value: Annotated[str, Column("of items and entries JSON, of images and feeds their URL")]
    #: the width; None if the page does not declare it
    width: Annotated[int | None, Column("of an image as declared; of a table its columns")]
    height: Annotated[int | None, Column("of an image as declared; of a table its rows")]
    is_cut: Annotated[bool, Column("a text of the row is longer than what is kept")]


COLUMNS = ", ".join(columns_of(StructuredRow))
ROWS = f"SELECT {COLUMNS} FROM structured WHERE true {{conditions}}"  # noqa: S608 - constants
LIST = f"""
SELECT page_id, position, {COLUMNS} FROM structured
WHERE (page_id, position) > ($page_id, $position) {{conditions}}
ORDER BY page_id, position LIMIT $most
"""  # noqa: S608 - constants
KINDS = """
SELECT kind, count(*), count(DISTINCT page_id) FROM structured WHERE true {conditions}
GROUP BY kind
"""
FACETS = """
SELECT {column}, count(*) AS rows, count(DISTINCT page_id) FROM structured
WHERE true {conditions} GROUP BY {column} ORDER BY rows DESC, {column} LIMIT $most
"""
OF_PAGE = """
SELECT kind, count(*), count(DISTINCT page_id) FROM structured WHERE page_id = $page_id
GROUP BY kind
"""


@dataclass(frozen=True)
class DataFilter:
    """The filter of rows. Empty fields have no effect."""

    kind: str = ""
    type: str = ""
    name: str = ""
    #: a page's URL
    page: str = ""

    def conditions(self) -> tuple[str, dict[str, Any]]:
        """The conditions and their values. Raises BadOrder if the page is not an address."""
        asked = asdict(self) | {"page": canonical_or_empty("page", self.page)}
        values = {name: text for name, text in asked.items() if text}
        return " ".join(f"AND {name} = ${name}" for name in values), values


@dataclass(frozen=True)
class DataCount:
    name: str
    rows: int
    pages: int


def list_structured(
    run: Run, wanted: DataFilter, *, after: str = "", most: int
) -> tuple[list[StructuredRow], str | None]:
    """Rows in the order in which they were found, and the key after which more follow. Raises
    BadOrder or LinkSearchTookTooLong.
    """
    page_id, position = key_of(after)
    conditions, values = wanted.conditions()
    values |= {"page_id": page_id, "position": position, "most": most + 1}
    rows = query_reading(run, LIST.format(conditions=conditions), values)
    found = [_structured_row(*row[2:]) for row in rows[:most]]
    return found, f"{rows[most - 1][0]}-{rows[most - 1][1]}" if len(rows) > most else None


def count_kinds(run: Run, *, page: str = "") -> list[DataCount]:
    """The counts of a run, or of the page with this URL, by kind in the order of DataKind. Raises
    BadOrder or LinkSearchTookTooLong.
    """
    conditions, values = DataFilter(page=page).conditions()
    return _sorted_counts(query_reading(run, KINDS.format(conditions=conditions), values))


def structured_of_page(page: Page) -> list[tuple[DataKind, DataCount]] | None:
    """The counts of a stored page. Only the part that has the page is read. None if the page had no
    second reading yet.
    """
    if not LinksPart.objects.filter(pk=page.links_part or 0, read_at__isnull=False).exists():
        return None
    counts = _sorted_counts(query_reading(page.run, OF_PAGE, {"page_id": page.pk}, page=page))
    return [(DataKind(count.name), count) for count in counts]


def count_facets(run: Run, wanted: DataFilter) -> list[DataCount]:
    """The most frequent types of a kind, or its most frequent names if it has names."""
    column = "name" if wanted.kind in NAMED else "type"
    conditions, values = DataFilter(wanted.kind, page=wanted.page).conditions()
    query = FACETS.format(column=column, conditions=conditions)
    return [DataCount(*row) for row in query_reading(run, query, {**values, "most": MOST_FACETS})]


def structured_file(run: Run, stem: str, kind: str, wanted: DataFilter) -> Download:
    """A file with all rows that match the filter. kind: csv, jsonl or parquet. Raises BadOrder or
    LinkSearchTookTooLong.
    """
    conditions, values = wanted.conditions()
    query = ROWS.format(conditions=conditions)
    if kind == "parquet":
        lag = lag_of(run, Derived.STRUCTURED_DATA)
        facts = {"complete": str(lag.complete).lower(), "behind": lag.behind, "run": run.number}
        size, pieces = reading_parquet(run, query, values, facts)
        return Download(f"{stem}.parquet", PARQUET, pieces, size)
    return row_file(stem, kind, _rows_as_dicts(run, query, values), list(columns_of(StructuredRow)))


def _rows_as_dicts(run: Run, query: str, values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for row in stream_reading_rows(run, query, values):
        yield vars(_structured_row(*row))


def _structured_row(*cells: Any) -> StructuredRow:
    page, kind, of_type, name, value, width, height, is_cut = cells
    return StructuredRow(
        page, DataKind(kind), of_type, name, value, width or None, height or None, bool(is_cut)
    )


def _sorted_counts(rows: list[tuple[Any, ...]]) -> list[DataCount]:
    places = {kind: place for place, kind in enumerate(DataKind)}
    return [DataCount(*row) for row in sorted(rows, key=lambda row: places[DataKind(row[0])])]
