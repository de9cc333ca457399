"""Files that are made while they are sent, and the responses that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.http import StreamingHttpResponse

from serving.row_lines import csv_lines, lines_of

PARQUET = "application/vnd.apache.parquet"
#: kinds of files of rows, and the words of the links to them
ENDINGS = {"csv": "CSV", "jsonl": "JSON Lines", "parquet": "Parquet"}
#: the content type by the ending of a file
TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "txt": "text/plain; charset=utf-8",
}


@dataclass(frozen=True)
class Download:
    """A file that is made piece by piece."""

    name: str
    content_type: str
    pieces: Iterator[str] | Iterator[bytes]
    #: the length in bytes, if it is known in advance
    length: int | None = None
    #: whether all rows are computed; if not, the file's name and a header say so
    complete: bool = True

    @property
    def shown_name(self) -> str:
        if self.complete:
            return self.name
        stem, dot, ending = self.name.rpartition(".")
        return f"{stem}-incomplete{dot}{ending}"


def row_file(
    stem: str, kind: str, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()
) -> Download:
    """The rows as the file `stem.kind`; kind and columns are explained at `lines_of`."""
    return Download(f"{stem}.{kind}", TYPES[kind], lines_of(rows, kind, columns))


def cell_file(stem: str, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> Download:
    """The table `stem.csv`, from rows whose cells have no names."""
    return Download(f"{stem}.csv", TYPES["csv"], csv_lines(columns, rows))


def text_file(stem: str, lines: Iterator[str]) -> Download:
    return Download(f"{stem}.txt", TYPES["txt"], lines)


def send(download: Download) -> StreamingHttpResponse:
    """Send the file piece by piece.

    If a piece can't be made the connection is closed early, so that a part is not taken for the
    whole.
    """
    answer = StreamingHttpResponse(download.pieces, content_type=download.content_type)
    answer["Content-Disposition"] = f'attachment; filename="{quote(download.shown_name)}"'
    if not download.complete:
        answer["Complete"] = "false"
    answer["X-Content-Type-Options"] = "nosniff"
    if download.length is not None:
        answer["Content-Length"] = str(download.length)
    return answer
