"""Rows as lines of a CSV table."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import chain
from typing import Any

from allocation.csv_cells import guarded


def csv_lines(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """A line for the columns and each row, for spreadsheets: what would be a formula there gets an
    apostrophe in front.
    """
    line = StringIO()
    writer = csv.writer(line)
    for cells in chain([columns], rows):
        writer.writerow(map(guarded, cells))
        yield line.getvalue()
        line.seek(0)
        line.truncate()
