"""`manage.py archive`: list, index and check the archive of a crawl."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from allocation.wording import joined_in_words
from crawling.archive.reader import index_lines, records_of
from crawling.archive.selection import referring_runs
from crawling.base.errors import ArchiveTrouble
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.management.command_errors import plain_errors
from crawling.models import ArchiveFile, CrawlJob, FurtherRecord, Page
from crawling.runs.housekeeping.retention_view import runs_needed_by_others


class Command(BaseCommand):
    help = (
        "List the archive files of a crawl, print their CDXJ index, or read them whole and "
        "compare them with the pages."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("verb", choices=("list", "index", "check"))
        parser.add_argument("crawl", help="its name or number")

    def handle(self, *, verb: str, crawl: str, **options: Any) -> None:
        with plain_errors():
            job = find_crawl(crawl)
            {"list": self._print_files, "index": self._index, "check": self._check_records}[verb](
                job
            )

    def _print_files(self, crawl: CrawlJob) -> None:
        files = _files(crawl)
        referring = referring_runs({row.run_id for row in files if row.run_id})
        runs = runs_needed_by_others(crawl, only=referring)
        for row in files:
            state = "complete" if row.sealed_at else "being written"
            if row.run and row.run_id in referring:
                needed = [f"run {number}" for number, by in runs.items() if row.run.number in by]
                state += f", refers to {joined_in_words(needed) or 'another crawl'}"
            self.stdout.write(
                f"{row.path}  run {row.run.number if row.run else '-'}  "
                f"{row.committed_length:,} bytes  {state}"
            )

    def _index(self, crawl: CrawlJob) -> None:
        for line in sorted(line for row in _files(crawl) for line in index_lines(row)):
            self.stdout.write(line)

    def _check_records(self, crawl: CrawlJob) -> None:
        """Check the digests of every record, and that each row refers to a record of its URL."""
        wrong, records = [], 0
        for row in _files(crawl):
            places: dict[int, str] = {}
            try:
                for record, offset, _ in records_of(row, check_digests=True):
                    records += 1
                    places[offset] = (
                        record.rec_headers.get_header("WARC-Target-URI")
                        if record.rec_type in ("response", "revisit", "resource")
                        else ""
                    )
            except ArchiveTrouble as trouble:
                wrong.append(str(trouble))
                continue
            wrong += [
                f"{row.name}: no record of {url} at byte {at}"
                for at, url in _records_told(row)
                if places.get(at) != url
            ]
        if wrong:
            raise CommandError(
                "\n".join([*wrong[:20], f"{len(wrong)} mistakes in {records:,} records."])
            )
        self.stdout.write(f"{records:,} records are whole, and every page has its own.")


def _records_told(row: ArchiveFile) -> Iterator[tuple[int, str]]:
    """The offset of each record according to its row, with its URL."""
    pages = Page.objects.filter(archive_file=row).values_list("archive_offset", "url__url")
    for rows in (
        pages,
        row.further_records.values_list("archive_offset", FurtherRecord.addresses()),
    ):
        for at, url in rows.iterator():
            yield at or 0, url


def _files(crawl: CrawlJob) -> list[ArchiveFile]:
    return list(
        ArchiveFile.objects.filter(run__crawl=crawl, committed_length__gt=0)
        .select_related("run")
        .order_by("pk")
    )
