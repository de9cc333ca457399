"""`crawl import`: WARC and WACZ files become a crawl with one run, in this process."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.core.management.base import OutputWrapper

from crawling.dashboard.management.cancelling import cancel_command
from crawling.dashboard.management.command_words import Subcommand
from crawling.jobs.cancel import cancel_job
from crawling.uses.imports.import_jobs import crawl_name_of_file, find_import
from crawling.uses.imports.importing import faults_in_words, import_files
from crawling.uses.imports.jobs import ArchiveImport

WORDS = "make a crawl of WARC, ARC or WACZ files"


def add_import_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="WARC, ARC or WACZ files"
    )
    parser.add_argument("--name", default="", help="of the crawl; default: by the first file")


def import_archive(options: dict[str, Any], out: OutputWrapper) -> None:
    """Import the files. Raises CrawlError."""
    files: list[Path] = options["files"]
    name = options["name"] or crawl_name_of_file(files[0].name)
    made = import_files(files, name=name, namespace=uuid4(), by=None)
    crawl = made.run.crawl
    if options["json"]:
        facts = {"crawl": crawl.pk, "name": crawl.name, "pages": made.pages}
        out.write(json.dumps({**facts, "left_out": made.left_out, "remarks": made.remarks}))
        return
    about = faults_in_words(made.left_out, made.remarks)
    out.write(f"Crawl {crawl.pk}, {crawl.name}: {made.pages:,} pages. {about}".strip())


def _cancel_import(number: int) -> str:
    job = cancel_job(find_import(number), by=None)
    return f"Import {job.pk} of {', '.join(ArchiveImport.from_job(job).files)}"


COMMANDS = (
    Subcommand("import", WORDS, add_import_arguments, import_archive, has_crawl=False),
    cancel_command("import", "end an import that waits or runs", "on Imports", _cancel_import),
)
