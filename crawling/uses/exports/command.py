"""`crawl wacz` and `crawl mirror`: write a run, or the latest pages of all runs, to a file or a
folder. The work is done in this process.
"""

from __future__ import annotations

import json
import shutil
from argparse import ArgumentParser
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from django.core.management.base import CommandError, OutputWrapper

from crawling.archive.packages.reading import read_package
from crawling.base.errors import ArchiveTrouble, WrongState
from crawling.dashboard.management.command_words import Subcommand
from crawling.dashboard.management.run_options import run_of
from crawling.jobs.kinds import JobKind
from crawling.jobs.running import run_in_this_process
from crawling.uses.exports.jobs import LATEST_MIRROR, MIRROR, WACZ
from crawling.uses.exports.run_export import RunExport
from crawling.uses.exports.state import ExportState, open_export, state_of
from serving.listing.command import write_whole

OUTPUT = {
    WACZ.name: ("FILE", "default: its name, here"),
    MIRROR.name: ("PLACE", "a FILE.zip, or a folder that is new; default: its name, here"),
}


def add_export_arguments(kind: JobKind, parser: ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--run", type=int, help="its number; the latest without it")
    if kind is MIRROR:
        which.add_argument(
            "--all-runs", action="store_true", help="the newest document of each URL over all runs"
        )
    place, about = OUTPUT[kind.name]
    parser.add_argument("--output", type=Path, metavar=place, help=about)


def export_run(kind: JobKind, options: dict[str, Any], out: OutputWrapper) -> None:
    """Write the file or folder. Raises CrawlError and CommandError."""
    run = run_of(options)
    kind = LATEST_MIRROR if options.get("all_runs") else kind
    with suppress(WrongState):  # `state_of` gives the reason
        run_in_this_process(open_export(run, kind))
    state = state_of(run, kind)
    if state.file is None:
        raise ArchiveTrouble(state.trouble or "Another process writes it; ask again in a moment.")
    place = options["output"] or Path(state.name)
    is_folder = kind is not WACZ and place.suffix != ".zip"
    try:
        (_write_folder if is_folder else _write_file)(state.file, place)
    except OSError as error:
        raise CommandError(f"--output: {place} cannot be written ({error.strerror}).") from error
    out.write(_result_text(state, state.file, place, as_json=options["json"]))


def _result_text(state: ExportState, export: RunExport, place: Path, *, as_json: bool) -> str:
    if as_json:
        facts = {"file": str(place), "bytes": export.bytes, "pages": export.pages}
        return json.dumps({**facts, "missing": state.missing})
    missing = f"; {state.missing:,} are not in this server's archive" if state.missing else ""
    return f"{place}: {export.pages:,} pages, {export.bytes:,} bytes{missing}"


def _write_file(export: RunExport, place: Path) -> None:
    write_whole(place, read_package(export, 0, export.bytes))


def _write_folder(export: RunExport, place: Path) -> None:
    """Write the folder, which appears as a whole or not at all. Raises OSError, CommandError or
    ArchiveTrouble.
    """
    if place.exists():
        raise CommandError(f"--output: {place} is there already; name a folder that is new.")
    packed, unfinished = (
        place.with_name(place.name + ".zip-unfinished"),
        place.with_name(place.name + ".unfinished"),
    )
    try:
        _write_file(export, packed)
        with ZipFile(packed) as package:
            package.extractall(unfinished)
        unfinished.rename(place)
    finally:
        packed.unlink(missing_ok=True)
        shutil.rmtree(unfinished, ignore_errors=True)


COMMANDS = tuple(
    Subcommand(kind.name, words, partial(add_export_arguments, kind), partial(export_run, kind))
    for kind, words in (
        (WACZ, "write a run as a WACZ file"),
        (MIRROR, "write a run as pages for a browser without a server"),
    )
)
