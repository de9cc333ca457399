"""`crawl import`: WARC and WACZ files become a crawl with one run, in this process."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from uuid import uuid4

from crawling.uses.imports.import_jobs import name_of
from crawling.uses.imports.importing import describe, import_files


def add_import_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="WARC, ARC or WACZ files"
    )
    parser.add_argument("--name", default="", help="of the crawl; default: by the first file")


def import_archive(options: dict[str, Any]) -> str:
    """Import the files and return what to print. Raises CrawlError."""
    files: list[Path] = options["files"]
    name = options["name"] or name_of(files[0].name)
    made = import_files(files, name=name, namespace=uuid4(), by=None)
    crawl = made.run.crawl
    if options["json"]:
        facts = {"crawl": crawl.pk, "name": crawl.name, "pages": made.pages}
        return json.dumps({**facts, "left_out": made.left_out, "remarks": made.remarks})
    about = describe(made.left_out, made.remarks)
    return f"Crawl {crawl.pk}, {crawl.name}: {made.pages:,} pages. {about}".strip()
