"""The tables of an HTML document as rows of texts, within limits. A cell that spans others is
written into each of them (HTML Standard, section 4.9.12).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import turbohtml

from crawling.web.documents.markup import attribute_text, text_of

#: limits for a page; if a table reaches one, its beginning is kept
MOST_TABLES = 200
MOST_CELLS = 100_000
#: the most bytes of all cells, as JSON
MOST_BYTES = 3 * 1024 * 1024
#: the most characters of a cell
MOST_CELL = 2_000
#: the most characters of all tables that are read; the text of a nested table counts in each table
#: around it
MOST_TEXT = 8 * 1024 * 1024
#: the longest spans; longer ones are reduced to these (section 4.9.11)
LONGEST_SPANS = {"colspan": 1_000, "rowspan": 65_534}
UNSEEN = "script, style, template, noscript"
#: elements whose text is separate from the words around them
BREAKS = "br, p, div, li, dt, dd, caption, tr"
MOST_BREAKS = 50_000
DIGITS = "0123456789"


class FoundTable(NamedTuple):
    """A table as rows of the same length. The first row often has the names of the columns."""

    caption: str
    rows: list[list[str]]
    #: whether rows or texts are missing
    is_cut: bool


def find_tables(document: turbohtml.Document) -> tuple[list[FoundTable], int]:
    """The first tables of a document in order, nested ones included, and the number of further
    tables. Changes the tree.
    """
    document.remove(UNSEEN)
    for element in document.select(BREAKS)[:MOST_BREAKS]:
        element.insert_before(turbohtml.Text(" "))
        element.insert_after(turbohtml.Text(" "))
    tables = document.find_all("table")
    some, reader = tables[:MOST_TABLES], _TableReader()
    shares = fair_shares([_cell_limit(table) for table in some], MOST_CELLS)
    found = [reader.read(table, most) for table, most in zip(some, shares, strict=True)]
    return found, len(tables) - len(some)


def fair_shares(wanted: Sequence[int], most: int) -> list[int]:
    """Max-min fair shares: no share is larger than wanted, and no share is reduced in favour of a
    larger one.
    """
    shares, rest = [0] * len(wanted), most
    for behind, place in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        shares[place] = min(wanted[place], rest // (len(wanted) - behind))
        rest -= shares[place]
    return shares


class _TableReader:
    def __init__(self) -> None:
        self._bytes, self._text = MOST_BYTES, MOST_TEXT

    def read(self, table: turbohtml.Element, most: int) -> FoundTable:
        """most: cells."""
        title = next((part for part in _child_elements(table) if part.tag == "caption"), None)
        caption = " ".join(text_of(title).split())[:MOST_CELL] if title else ""
        is_cut = _cut_rows(table, most)
        length = len(table.text)
        if length > self._text:
            return FoundTable(caption, [], True)
        self._text -= length
        rows: list[list[str]] = []
        for cells in table.rows():
            texts = [" ".join(cell[: 4 * MOST_CELL].split()) for cell in cells]
            row = [text[:MOST_CELL] for text in texts]
            size = sum(len(json.dumps(text)) for text in row)
            if size > self._bytes:
                return FoundTable(caption, rows, True)
            self._bytes -= size
            is_cut = is_cut or any(len(cell) > MOST_CELL for cell in texts)
            rows.append(row)
        return FoundTable(caption, rows, is_cut)


def _cell_limit(table: turbohtml.Element) -> int:
    """An upper bound of the table's cells once spans are written out."""
    widths = [columns for _, columns in _rows_of_table(table)]
    return len(widths) * max(widths, default=0)


def _cut_rows(table: turbohtml.Element, most: int) -> bool:
    """Remove the rows beyond the first `most` cells, with spans written out. Return whether any
    were removed. The attributes of spans become the numbers that were counted.
    """
    count = width = 0
    rows = list(_rows_of_table(table))
    for _, columns in rows:
        width = max(width, columns)
        if (count + 1) * width > most:
            break
        count += 1
    for row, _ in rows[count:]:
        row.decompose()
    return count < len(rows)


def _rows_of_table(table: turbohtml.Element) -> Iterator[tuple[turbohtml.Element, int]]:
    """The rows of a table, without rows of nested tables, each with an upper bound of its columns:
    its own cells, and cells of earlier rows of its group that span it.
    """
    for group in _child_elements(table):
        reaching, ends = 0, Counter[int]()
        rows = [group] if group.tag == "tr" else _child_elements(group)
        for number, row in enumerate(row for row in rows if row.tag == "tr"):
            reaching -= ends.pop(number, 0)
            own = down = 0
            for cell in _child_elements(row):
                if cell.tag not in ("td", "th"):
                    continue
                columns, height = (
                    _span_of_cell(cell, "colspan") or 1,
                    _span_of_cell(cell, "rowspan"),
                )
                own += columns
                if height != 1:
                    down += columns
                    # 0 means a span to the end of the group
                    ends[number + height if height else -1] += columns
            yield row, reaching + own
            reaching += down


def _span_of_cell(cell: turbohtml.Element, name: str) -> int:
    if name not in cell.attrs:
        return 1
    written = attribute_text(cell, name).strip()[:9]
    digits = written[: len(written) - len(written.lstrip(DIGITS))]
    span = min(int(digits), LONGEST_SPANS[name]) if digits else 1
    cell.attrs[name] = str(span)
    return span


def _child_elements(element: turbohtml.Element) -> Iterator[turbohtml.Element]:
    return (child for child in element.children if isinstance(child, turbohtml.Element))
