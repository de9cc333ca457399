"""The matches of extraction rules on stored pages of a run, before a crawl uses the rules. A
background job finds the matches, since the documents are foreign.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import starmap
from typing import Any

from pydantic import ValidationError

from crawling.base.errors import ArchiveTrouble, BadOrder
from crawling.datasets.stored_documents import extract_from_tree, html_pages, stored_tree
from crawling.models import Run
from crawling.orders.fields import fields_of
from crawling.orders.sections.reading import ReadingPart
from crawling.web.documents.table_cells import FoundTable, find_tables

#: the number of latest pages that are read, and the longest time for that in seconds, since a user
#: waits
MOST_PAGES = 20
MOST_SECONDS = 20.0
#: the number of values that are shown of each page and rule; all are counted. Each is cut to
#: MOST_LENGTH characters
MOST_VALUES = 5
MOST_LENGTH = 300


@dataclass(frozen=True)
class RuleMatches:
    name: str
    count: int
    #: the first of the values
    values: list[str]


@dataclass(frozen=True)
class TableSize:
    """The size of a table of a page, without its rows (`crawling.uses.extraction.page_tables`)."""

    #: its place among the tables of the page, counted from 1
    number: int
    caption: str
    columns: int
    rows: int


@dataclass(frozen=True)
class PageMatches:
    id: int
    url: str
    rules: list[RuleMatches]
    #: the reason why the page could not be read
    trouble: str = ""
    tables: list[TableSize] = field(default_factory=list)


@dataclass(frozen=True)
class RulePreview:
    pages: list[PageMatches] = field(default_factory=list)
    #: by rule, the number of values on all these pages
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def ordered(self) -> list[tuple[str, int]]:
        """The counts, sorted by name, since JSON in the database does not keep the order of
        keys.
        """
        return sorted(self.counts.items())


def read_rules(text: str) -> dict[str, str]:
    """Rules from lines like `price = span.price`. Raises BadOrder."""
    rules_field = next(one for one in fields_of(ReadingPart) if one.name == "extract")
    stated = (line.strip() for line in text.splitlines())
    return checked_rules(dict(rules_field.halves(line, "=") for line in stated if line))


def checked_rules(rules: Mapping[str, str]) -> dict[str, str]:
    """The rules, checked like the rules of an order. Raises BadOrder."""
    if not rules:
        raise BadOrder({"rules": "There is none; write one a line, like price = span.price."})
    try:
        return ReadingPart(extract=dict(rules)).extract
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][1]) if len(first["loc"]) > 1 else ""
        said = str(first["msg"]).removeprefix("Value error, ")
        raise BadOrder({"rules": f"{name}: {said}" if name else said}) from error


def answer_preview(question: Mapping[str, Any]) -> dict[str, Any]:
    """The answer of the job, in the form that `preview_in` reads."""
    run = Run.objects.select_related("crawl").filter(pk=question["run"]).first()
    if run is None:
        raise ArchiveTrouble("The run was deleted meanwhile.")
    return asdict(preview_rules(run, question["rules"], first=question.get("page")))


def preview_rules(run: Run, rules: Mapping[str, str], *, first: int | None = None) -> RulePreview:
    """The matches of the rules on the latest pages. This reads foreign documents.

    first: the id of a page that is read before these.
    """
    latest = html_pages(run).order_by("-fetched_at", "-url_id")
    found = [*html_pages(run).filter(pk=first), *latest.exclude(pk=first)[:MOST_PAGES]]
    pages: list[PageMatches] = []
    counts = dict.fromkeys(rules, 0)
    until = time.monotonic() + MOST_SECONDS
    for page in found[:MOST_PAGES]:
        try:
            document = stored_tree(run, page)
            values = extract_from_tree(page, document, rules)
        except ArchiveTrouble as trouble:
            pages.append(PageMatches(page.pk, page.url.url, [], str(trouble)))
            continue
        of_page = Counter(name for name, _ in values)
        for name, count in of_page.items():
            counts[name] += count
        matches = [RuleMatches(name, of_page[name], _sample_values(values, name)) for name in rules]
        tables = list(starmap(_table_size, enumerate(find_tables(document)[0], 1)))
        pages.append(PageMatches(page.pk, page.url.url, matches, tables=tables))
        if time.monotonic() > until:
            break
    return RulePreview(pages, counts)


def _sample_values(values: list[tuple[str, str]], name: str) -> list[str]:
    return [value[:MOST_LENGTH] for one, value in values if one == name][:MOST_VALUES]


def _table_size(number: int, table: FoundTable) -> TableSize:
    columns = len(table.rows[0]) if table.rows else 0
    return TableSize(number, table.caption[:MOST_LENGTH], columns, len(table.rows))
