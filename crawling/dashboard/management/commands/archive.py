"""`manage.py archive`: list, index and check the archive of a crawl, and move all archives."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from allocation.wording import joined_in_words
from crawling.archive.files import this_machine
from crawling.archive.reader import index_lines, records_of
from crawling.archive.selection import referring_runs
from crawling.base.errors import ArchiveTrouble
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.management.command_errors import plain_errors
from crawling.models import ArchiveFile, CrawlJob, FurtherRecord, Page
from crawling.runs.housekeeping.archive_moves import move_to_bucket, move_to_directory
from crawling.runs.housekeeping.retention_view import runs_needed_by_others
from crawling.runs.lost_bytes import requeue_pages_of_lost_bytes


class Command(BaseCommand):
    help = (
        "List the archive files of a crawl, print their CDXJ index, or read them whole and "
        "compare them with the pages; move this machine's archive into the bucket or back; give "
        "up what a machine did not upload before it was lost."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("verb", choices=("list", "index", "check", "move", "lost"))
        parser.add_argument(
            "what",
            help="a crawl, by name or number; of move: bucket or directory; of lost: a machine, "
            "as `list` names it",
        )

    def handle(self, *, verb: str, what: str, **options: Any) -> None:
        with plain_errors():
            if verb == "move":
                self._move(what)
            elif verb == "lost":
                self._give_up(what)
            else:
                of_crawl = {
                    "list": self._print_files,
                    "index": self._index,
                    "check": self._check_records,
                }
                of_crawl[verb](find_crawl(what))

    def _move(self, place: str) -> None:
        moves = {"bucket": move_to_bucket, "directory": move_to_directory}
        if place not in moves:
            raise CommandError(f"Move to bucket or to directory, not to {place!r}.")
        moved: list[str] = []
        try:
            moves[place](moved.append)
        except OSError as error:
            raise CommandError(
                f"{len(moved):,} files were moved, then: {error.strerror}. Repeat the command; it "
                "continues there."
            ) from error
        left = ArchiveFile.objects.filter(sealed_at=None, committed_length__gt=0).count()
        self.stdout.write(f"{len(moved):,} files moved to the {place}; {left:,} are being written.")

    def _give_up(self, machine: str) -> None:
        if machine == this_machine():
            raise CommandError("This machine is not lost.")
        rows = ArchiveFile.objects.filter(
            machine=machine, sealed_at=None, run__isnull=False, committed_length__gt=0
        )
        pages = sum(requeue_pages_of_lost_bytes(row) for row in rows)
        self.stdout.write(f"{pages:,} pages had records on {machine} alone. The log has each file.")

    def _print_files(self, crawl: CrawlJob) -> None:
        files = _files(crawl)
        referring = referring_runs({row.run_id for row in files if row.run_id})
        runs = runs_needed_by_others(crawl, only=referring)
        for row in files:
            state = "complete" if row.sealed_at else f"being written on {row.machine}"
            if row.parts:
                state += f", {row.uploaded_length:,} bytes in {len(row.parts)} parts in the bucket"
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
