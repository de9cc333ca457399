"""`crawl import`: WARC and WACZ files become a crawl with one run, in this process."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings

from crawling.crawls.creation import LONGEST_NAME
from crawling.imports.importing import describe, import_files

ENDINGS = (".gz", ".warc", ".wacz")


def add_import_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="WARC or WACZ files")
    parser.add_argument("--name", default="", help="of the crawl; default: by the first file")


def import_archive(options: dict[str, Any]) -> str:
    """Import the files and return what to print. Raises CrawlError."""
    files: list[Path] = options["files"]
    name = options["name"] or _name_of(files[0])
    namespace = uuid4()
    folder = Path(settings.STATE_DIR) / "imports-at-work" / namespace.hex
    made = import_files(files, folder, name=name, namespace=namespace, by=None)
    crawl = made.run.crawl
    if options["json"]:
        facts = {"crawl": crawl.pk, "name": crawl.name, "pages": made.pages}
        return json.dumps({**facts, "left_out": made.left_out})
    said = f"Crawl {crawl.pk}, {crawl.name}: {made.pages:,} pages. {describe(made.left_out)}"
    return said.strip()


def _name_of(file: Path) -> str:
    """A crawl's name for a file's."""
    stem = file.name
    for ending in ENDINGS:
        stem = stem.removesuffix(ending)
    return f"Import of {stem}"[:LONGEST_NAME]
