"""A list on the command line: the options that filter and sort it, its rows as lines or as JSON,
and a file of all rows.
"""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import CommandError, OutputWrapper

from serving.downloads import ENDINGS, Download
from serving.listing.row_list import Ask, BadListRequest, ListFilter, RowList

Row = TypeVar("Row")
Options = Mapping[str, Any]


def add_list_options(
    parser: ArgumentParser, rows: RowList[Any], *, endings: Collection[str] = ENDINGS
) -> None:
    """Add the options for a list's sort column and filters, and those of `add_row_options`."""
    if rows.first_sort:
        parser.add_argument(
            "--sort",
            choices=rows.sorts,
            default=rows.first_sort,
            help="the column, the largest first (default: %(default)s)",
        )
    for one in rows.filters:
        told: dict[str, Any] = {"choices": one.choices} if one.choices else {}
        default = one.choices[0] if one.choices else ""
        words = one.words or one.meaning
        told["type"] = partial(_read_argument, one)
        parser.add_argument(one.option, dest=one.name, default=default, help=words, **told)
    add_row_options(parser, endings=endings)


def _read_argument(one: ListFilter, text: str) -> str:
    try:
        return one.read(text)
    except BadListRequest as error:
        raise ArgumentTypeError(error.errors[one.name]) from error


def add_row_options(
    parser: ArgumentParser,
    noun: str = "rows",
    *,
    usual: int = 20,
    endings: Collection[str] = ENDINGS,
) -> None:
    """Add the options for the number of printed rows, and for a file of all rows, if there is
    one.
    """
    parser.add_argument(
        "--limit",
        type=_positive,
        default=usual,
        metavar="ROWS",
        help=f"{noun} to print (default: {usual})",
    )
    if endings:
        words = f"write all {noun} to a file; its ending says how: {', '.join(endings)}"
        parser.add_argument("--export", type=Path, metavar="FILE", help=words)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ArgumentTypeError("must be 1 or more")
    return number


def show_list(
    rows: RowList[Row],
    ask: Ask,
    options: Options,
    out: OutputWrapper,
    *,
    line: Callable[[Row], str],
    file: Callable[..., Download],
    endings: Collection[str] = ENDINGS,
) -> None:
    """Print the rows that the options of `add_list_options` ask for, or write the file that they
    name. file: makes the file of a kind with the `wanted` rows. Raises CommandError, and the errors
    of `ask`.
    """
    wanted = {one.name: options.get(one.name, "") for one in rows.filters}
    if options["export"]:
        out.write(export_rows(options, partial(file, wanted=wanted), endings=endings))
        return
    sort = options["sort"] if rows.first_sort else ""
    print_rows(rows.page(ask, wanted, sort=sort, most=options["limit"])[0], options, out, line)


def print_rows(
    rows: Iterable[Row], options: Options, out: OutputWrapper, line: Callable[[Row], str]
) -> None:
    """Print rows, which are data classes, as lines or as a JSON object each."""
    for row in rows:
        if options["json"]:
            facts = asdict(row)  # type: ignore[call-overload]
            out.write(json.dumps(facts, default=str))
        else:
            out.write(line(row))


def export_rows(
    options: Options, file: Callable[[str], Download], *, endings: Collection[str] = ENDINGS
) -> str:
    """Write the file that `--export` names and return what to print. file: makes the file of a
    kind, which is the suffix of the name. Raises CommandError, and the errors of `file`.
    """
    place: Path = options["export"]
    kind = place.suffix.removeprefix(".")
    if kind not in endings:
        raise CommandError(f"--export: the file must end with {', '.join(endings)}: {place}")
    return write_rows(place, file(kind).pieces)


def write_rows(place: Path, pieces: Iterable[bytes | str]) -> str:
    """Write the file that `--export` names and return the line to print. Raises CommandError."""
    try:
        write_whole(place, (one.encode() if isinstance(one, str) else one for one in pieces))
    except OSError as error:
        raise CommandError(f"--export: {error.strerror}: {place}") from error
    return f"{place}: {place.stat().st_size:,} bytes"


def write_whole(place: Path, pieces: Iterable[bytes]) -> None:
    """Write a file, which appears as a whole or not at all. Raises OSError."""
    unfinished = place.with_name(place.name + ".unfinished")
    try:
        with unfinished.open("wb") as file:
            file.writelines(pieces)
            os.fsync(file.fileno())
        unfinished.rename(place)
    finally:
        unfinished.unlink(missing_ok=True)
