"""`crawl wacz`: a run as a WACZ file, made in this process."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawling.dashboard.base.requests import get_run
from crawling.errors import ArchiveTrouble
from crawling.models import CrawlJob
from crawling.wacz.files import ask_wacz, write_asked
from crawling.wacz.layout import read
from crawling.wacz.state import state_of


def add_wacz_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--run", type=int, help="its number; the latest without it")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: its name, here")


def export_wacz(crawl: CrawlJob, options: dict[str, Any]) -> str:
    """Write the file and return what to print. Raises CrawlError and CommandError."""
    run = get_run(crawl.pk, options["run"])
    write_asked(ask_wacz(run).pk)
    state = state_of(run)
    if state.file is None:
        raise ArchiveTrouble(state.trouble or "Another process writes it; ask again in a moment.")
    place = options["output"] or Path(state.name)
    unfinished = place.with_name(place.name + ".unfinished")
    try:
        with unfinished.open("wb") as file:
            file.writelines(read(state.file, 0, state.file.bytes))
            os.fsync(file.fileno())
        unfinished.rename(place)
    except OSError as error:
        raise CommandError(f"--output: {place} cannot be written ({error.strerror}).") from error
    finally:
        unfinished.unlink(missing_ok=True)
    if options["json"]:
        facts = {"file": str(place), "bytes": state.file.bytes, "pages": state.file.pages}
        return json.dumps(facts)
    return f"{place}: {state.file.pages:,} pages, {state.file.bytes:,} bytes"
