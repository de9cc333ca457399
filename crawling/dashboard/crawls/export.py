"""Crawls as one ZIP file: the list of crawls, and a file with the order of each, from which the
crawl can be created again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from tempfile import TemporaryFile
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile

from django.http import FileResponse
from pydantic_core import to_json

from crawling.dashboard.base.crawl_views import crawl_views
from crawling.models import CrawlJob
from crawling.runs.crawls.creation import order_of
from serving.row_lines import lines_of

#: characters that some file systems do not allow in names
PLAIN = re.compile(r"[^\w.-]+")
LONGEST = 60


def write_export(crawls: Sequence[CrawlJob], target: IO[bytes]) -> None:
    """Write the file, one crawl after the other, since orders may have very many seeds."""
    rows = [view.as_dict() for view in crawl_views(crawls)]
    with ZipFile(target, "w", ZIP_DEFLATED) as bundle:
        for kind in ("csv", "jsonl"):
            bundle.writestr(f"crawls.{kind}", "".join(lines_of(rows, kind)))
        for crawl in crawls:
            name = PLAIN.sub("-", crawl.name).strip(".-")[:LONGEST]
            order = to_json(order_of(crawl), indent=2, fallback=str)
            bundle.writestr(f"orders/{crawl.pk}-{name}.json", order)


def export_answer(crawls: Sequence[CrawlJob]) -> FileResponse:
    bundle = TemporaryFile()  # noqa: SIM115  # the answer closes it
    write_export(crawls, bundle)
    bundle.seek(0)
    return FileResponse(
        bundle, as_attachment=True, filename="crawls.zip", content_type="application/zip"
    )
