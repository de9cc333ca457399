"""Extracted fields as a wide table: a row for each page on which a rule found something, a column
for each rule, and next to a number, price or date the text from which it was read.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from crawling.dashboard.pages.downloads import cell_value, field_values, matched_rule_names
from crawling.datasets.extracted_fields import field_rules
from crawling.models import ExtractedRow, Page, Run
from crawling.uses.bulk_data.bulk_table import (
    FRACTION,
    MOMENT,
    NUMBER,
    TEXTS,
    BulkColumn,
    BulkPlace,
    BulkRows,
    BulkStep,
    pages_by_time,
    place_of_page,
)

#: the number of pages whose fields are read at once
PAGES_AT_A_TIME = 500
OWN = (BulkColumn("page_id", NUMBER), BulkColumn("url"), BulkColumn("fetched_at", MOMENT))
#: for each type of field that is not text: the type of its column, and its further columns
KINDS = {"number": FRACTION, "price": FRACTION, "list": TEXTS}
BESIDE = {"number": ("raw",), "price": ("currency", "raw"), "date": ("raw",)}
#: types whose values libraries convert
CONVERTED = tuple(BESIDE)
#: the processor time for the dates of one file, enough for a million usual dates; later dates are
#: marked as not converted, with their text
MOST_DATE_SECONDS = 1200.0
#: the name of the count of milliseconds spent on dates
SPENT = "date_milliseconds"


@dataclass(frozen=True)
class Field:
    name: str
    #: the type that the rule states; empty for text, and for several texts as JSON
    type: str
    columns: tuple[BulkColumn, ...]


def rules_state(run: Run) -> str:
    """A text that changes whenever the pages are read again by other rules, page by page, and
    whenever the types of rules change.
    """
    found = field_rules(run)
    job = found.job and [found.job.pk, found.job.progress.get("done", 0)]
    told = {"rules": found.rules, "job": job, "since": found.since}
    return json.dumps(told, default=datetime.isoformat, sort_keys=True)


def field_types(run: Run) -> dict[str, str]:
    # readers of documents are imported only where they are needed
    from crawling.web.documents.css_selectors import type_of_rule

    return {name: type_of_rule(rule) for name, rule in field_rules(run).rules.items()}


def are_typed(run: Run) -> bool:
    """Whether some fields must be converted, which may take long."""
    return any(kind in CONVERTED for kind in field_types(run).values())


def count_pages_with_fields(run: Run) -> int:
    return ExtractedRow.objects.filter(run=run).values("url").distinct().count()


def fields(run: Run) -> list[Field]:
    """The fields of the run's rules, and all other fields in which a rule found something, by
    name.
    """
    types, taken = field_types(run), {one.name for one in OWN}
    names = sorted({*types, *matched_rule_names(run)})
    return [_field_with_columns(name, types.get(name, ""), taken) for name in names]


def _field_with_columns(name: str, kind: str, taken: set[str]) -> Field:
    """The field with this name. taken: the names of earlier columns, in lower case, since readers
    of Parquet ignore case.
    """
    columns = [BulkColumn(_take_free_name(name, taken), KINDS.get(kind, "VARCHAR"))]
    for ending in BESIDE.get(kind, ()):
        columns.append(BulkColumn(_take_free_name(f"{columns[0].name}_{ending}", taken)))
    return Field(name, kind, tuple(columns))


def _take_free_name(name: str, taken: set[str]) -> str:
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name


def field_rows(run: Run, place: BulkPlace) -> BulkRows:
    """The rows of extracted fields. The counts say how many values of each field could not be
    converted.
    """
    found, counts = fields(run), Counter(place.counts)
    columns = (*OWN, *(column for one in found for column in one.columns))
    return BulkRows(columns, _row_batches(run, place, found, counts), counts)


def _row_batches(
    run: Run, place: BulkPlace, wanted: list[Field], counts: Counter[str]
) -> Iterator[BulkStep]:
    pages, dates = pages_by_time(run, place), DateReader(counts)
    while some := list(islice(pages, PAGES_AT_A_TIME)):
        found = field_values(run, [page.pk for page in some])
        for page in some:
            if page.pk in found:
                cells = [
                    cell
                    for one in wanted
                    for cell in _cells_of_field(one, found, page, counts, dates)
                ]
                row = (page.pk, page.url.url, page.fetched_at, *cells)
                yield BulkStep(place_of_page(page.fetched_at, page.pk), (row,))


def _cells_of_field(
    field: Field,
    found: Mapping[int, Mapping[str, list[str]]],
    page: Page,
    failed: Counter[str],
    dates: DateReader,
) -> tuple[Any, ...]:
    values = found[page.pk].get(field.name, [])
    if field.type == "list":
        return (values,)
    if field.type == "":
        return (cell_value(values),)
    text = next(iter(values), None)
    if field.type == "text":
        return (text,)
    if text is None:
        return (None,) * len(field.columns)
    cells = _converted_cells(field.type, text, page, dates)
    failed[f"failed.{field.name}"] += cells[0] is None
    return (*cells, text)


class DateReader:
    """Reads the dates of one file within a time limit. A hostile date can occupy a library for half
    a second on each page.
    """

    def __init__(self, counts: Counter[str]) -> None:
        """counts: those of the file so far, including the counts of earlier readers."""
        self._counts = counts

    def read(self, text: str, page: Page) -> str | None:
        # the import takes time
        from crawling.uses.bulk_data.field_values import parse_date

        if self._counts[SPENT] >= MOST_DATE_SECONDS * 1000:
            return None
        began = time.thread_time()
        language = page.language.partition("-")[0].lower()
        found = parse_date(text, on=page.fetched_at, language=language)
        self._counts[SPENT] += round(1000 * (time.thread_time() - began))
        return found


def _converted_cells(kind: str, text: str, page: Page, dates: DateReader) -> tuple[Any, ...]:
    # the imports take time
    from crawling.uses.bulk_data.field_values import parse_number, parse_price

    if kind == "number":
        return (parse_number(text),)
    if kind == "price":
        return parse_price(text)
    return (dates.read(text, page),)
