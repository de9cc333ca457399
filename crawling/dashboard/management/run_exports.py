"""`crawl wacz` and `crawl mirror`: a run, or the latest pages of all runs, as a file or a folder,
made in this process.
"""

from __future__ import annotations

import json
import os
import shutil
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from django.core.management.base import CommandError

from crawling.dashboard.base.requests import get_run
from crawling.errors import ArchiveTrouble
from crawling.exports.layout import read
from crawling.exports.rows import ask_export
from crawling.exports.state import ExportState, state_of
from crawling.mirror.packing import write_asked as write_mirror
from crawling.models import CrawlJob, RunExport
from crawling.models.datasets import ExportKind
from crawling.wacz.packing import write_asked as write_wacz

WRITERS: dict[str, Callable[[int], None]] = {
    ExportKind.WACZ: write_wacz,
    ExportKind.MIRROR: write_mirror,
    ExportKind.LATEST_MIRROR: write_mirror,
}
OUTPUT = {
    ExportKind.WACZ: ("FILE", "default: its name, here"),
    ExportKind.MIRROR: ("PLACE", "a FILE.zip, or a folder that is new; default: its name, here"),
}


def add_export_arguments(parser: ArgumentParser, kind: ExportKind) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--run", type=int, help="its number; the latest without it")
    if kind == ExportKind.MIRROR:
        which.add_argument(
            "--all-runs", action="store_true", help="the newest document of each URL over all runs"
        )
    place, about = OUTPUT[kind]
    parser.add_argument("--output", type=Path, metavar=place, help=about)


def export_run(crawl: CrawlJob, kind: ExportKind, options: dict[str, Any]) -> str:
    """Write the file or folder and return what to print. Raises CrawlError and CommandError."""
    run = get_run(crawl.pk, options["run"])
    kind = ExportKind.LATEST_MIRROR if options.get("all_runs") else kind
    WRITERS[kind](ask_export(run, kind).pk)
    state = state_of(run, kind)
    if state.file is None:
        raise ArchiveTrouble(state.trouble or "Another process writes it; ask again in a moment.")
    place = options["output"] or Path(state.name)
    is_folder = kind != ExportKind.WACZ and place.suffix != ".zip"
    try:
        (_write_folder if is_folder else _write_file)(state.file, place)
    except OSError as error:
        raise CommandError(f"--output: {place} cannot be written ({error.strerror}).") from error
    return _said(state, state.file, place, as_json=options["json"])


def _said(state: ExportState, row: RunExport, place: Path, *, as_json: bool) -> str:
    if as_json:
        facts = {"file": str(place), "bytes": row.bytes, "pages": row.pages}
        return json.dumps({**facts, "missing": state.missing})
    missing = f"; {state.missing:,} are not in this server's archive" if state.missing else ""
    return f"{place}: {row.pages:,} pages, {row.bytes:,} bytes{missing}"


def _write_file(row: RunExport, place: Path) -> None:
    write_whole(place, read(row, 0, row.bytes))


def write_rows(place: Path, pieces: Iterable[bytes | str]) -> str:
    """Write what `--export` asks for and return what to print. Raises CommandError."""
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


def _write_folder(row: RunExport, place: Path) -> None:
    """It appears as a whole or not at all. Raises OSError and CommandError."""
    if place.exists():
        raise CommandError(f"--output: {place} is there already; name a folder that is new.")
    packed, unfinished = (
        place.with_name(place.name + ".zip-unfinished"),
        place.with_name(place.name + ".unfinished"),
    )
    try:
        _write_file(row, packed)
        with ZipFile(packed) as package:
            package.extractall(unfinished)
        unfinished.rename(place)
    finally:
        packed.unlink(missing_ok=True)
        shutil.rmtree(unfinished, ignore_errors=True)
