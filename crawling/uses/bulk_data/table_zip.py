"""A ZIP file with a CSV file for each table of each page. It is made while it is sent."""

from __future__ import annotations

from collections.abc import Iterator
from io import RawIOBase
from itertools import groupby
from operator import itemgetter
from typing import IO, Any, cast
from zipfile import ZIP_DEFLATED, ZipFile

from crawling.uses.bulk_data.bulk_table import Cells
from serving.row_lines import csv_lines

LIST = "tables.csv"
COLUMNS = ("file", "page_id", "url", "table", "caption", "rows", "columns")


class _Out(RawIOBase):
    """A file object that keeps written bytes in memory until they are taken."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        taken, self._pieces = b"".join(self._pieces), []
        return taken


def zip_pieces(rows: Iterator[Cells]) -> Iterator[bytes]:
    """The pieces of the ZIP file. Its last file is a list of all others. rows: the rows of tables,
    grouped by table.
    """
    out, listed = _Out(), list[Cells]()
    with ZipFile(cast(IO[bytes], out), "w", ZIP_DEFLATED) as archive:
        for (page, number), found in groupby(rows, key=itemgetter(0, 2)):
            table = list(found)
            cells = [row[5] for row in table]
            name = f"page-{page}-table-{number}.csv"
            archive.writestr(name, "".join(csv_lines(cells[0], cells[1:])))
            listed.append((name, page, table[0][1], number, table[0][3], len(cells), len(cells[0])))
            yield out.take()
        archive.writestr(LIST, "".join(csv_lines(COLUMNS, listed)))
    yield out.take()
