"""`manage.py checkpoint`: write a run to a directory, or create a crawl from one on this server or
another.
"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crawling.archive.checkpoint_directory import read_manifest
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.management.command_errors import plain_errors, read_json_object
from crawling.models.jobs import ENDED_STATES
from crawling.uses.checkpoints.checkpoint_export import take_checkpoint
from crawling.uses.checkpoints.checkpoint_import import import_checkpoint


class Command(BaseCommand):
    help = (
        "Write a crawl's run to a directory while it continues, check such a directory, or "
        "create a crawl from it on any server."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        export = verbs.add_parser("export", help="write a run to a new directory")
        export.add_argument("crawl", help="its name or number")
        export.add_argument("directory", type=Path)
        export.add_argument("--run", type=int, help="the run's number (default: the latest)")
        export.add_argument(
            "--no-archive",
            dest="archive",
            action="store_false",
            help="only refer to the archive's files",
        )
        check = verbs.add_parser(
            "check", help="read a directory whole and compare it with its checksums"
        )
        check.add_argument("directory", type=Path)
        load = verbs.add_parser(
            "import", help="create a new crawl and run from a directory, any number of times"
        )
        load.add_argument("directory", type=Path)
        load.add_argument("--name", help="default: that of the crawl, with a number if it is taken")
        load.add_argument(
            "--secrets",
            type=Path,
            help="a JSON file with what the checkpoint does not hold: headers, credentials and "
            "so on",
        )
        load.add_argument(
            "--resume", action="store_true", help="continue it at once; otherwise it is paused"
        )

    def handle(self, *, verb: str, **options: Any) -> None:
        with plain_errors():
            {"export": self._export, "check": self._check_checkpoint, "import": self._import}[verb](
                options
            )

    def _export(self, options: dict[str, Any]) -> None:
        run = get_run(find_crawl(options["crawl"]).pk, options["run"])
        taken = take_checkpoint(run, options["directory"], with_archive=options["archive"])
        self.stdout.write(f"{taken.folder}: {taken.urls:,} URLs of {run}, {taken.bytes:,} bytes.")
        if taken.missing and options["archive"]:
            raise CommandError(
                "The archive's files are not all on this machine, so the checkpoint only refers "
                "to them; "
                f"copy them yourself: {', '.join(taken.missing[:5])}"
            )

    def _check_checkpoint(self, options: dict[str, Any]) -> None:
        manifest = read_manifest(options["directory"])
        rows = manifest.parts["urls"]["rows"]
        self.stdout.write(
            f"Whole: {manifest.order['name']}, run {manifest.run['number']}, {rows:,} URLs, "
            f"taken {manifest.taken_at}."
        )

    def _import(self, options: dict[str, Any]) -> None:
        secrets = read_json_object(options["secrets"], "--secrets") if options["secrets"] else None
        run = import_checkpoint(
            options["directory"], name=options["name"], resume=options["resume"], secrets=secrets
        )
        todo = (
            f" Continue with: manage.py crawl resume {run.crawl.pk}"
            if run.state not in ENDED_STATES and not options["resume"]
            else ""
        )
        self.stdout.write(f"Crawl {run.crawl.pk}, {run.crawl.name}, is {run.state}.{todo}")
