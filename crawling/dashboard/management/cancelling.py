"""`crawl cancel-job` and `cancel-inquiry`: end background jobs that users requested."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import OutputWrapper

from crawling.base.errors import NotFound
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.requests import get_run
from crawling.dashboard.management.command_words import Subcommand
from crawling.jobs.cancel import cancel_job, cancel_job_of_run
from crawling.jobs.kinds import kinds_of_runs
from crawling.models import Inquiry


def cancel_command(noun: str, words: str, shown: str, cancel: Callable[[int], str]) -> Subcommand:
    """The command `cancel-NOUN ID`. shown: where a user finds the number. cancel: returns a text
    about the cancelled job; raises CrawlError.
    """

    def add_arguments(parser: ArgumentParser) -> None:
        parser.add_argument("number", type=int, metavar="ID", help=f"its number {shown}")

    def do(options: dict[str, Any], out: OutputWrapper) -> None:
        _print_cancelled(cancel(options["number"]), options, out)

    return Subcommand(f"cancel-{noun}", words, add_arguments, do, has_crawl=False)


def _add_job_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("kind", choices=tuple(kinds_of_runs()), help="what it makes")
    parser.add_argument("--run", type=int, help="its number; the latest without it")


def _cancel_job(options: dict[str, Any], out: OutputWrapper) -> None:
    run = get_run(find_crawl(options["crawl"]).pk, options["run"])
    kind = kinds_of_runs()[options["kind"]]
    cancel_job_of_run(kind, run, by=None)
    _print_cancelled(f"{kind.label} of run {run.number}", options, out)


def _print_cancelled(cancelled: str, options: dict[str, Any], out: OutputWrapper) -> None:
    as_json = json.dumps({"cancelled": cancelled})
    out.write(as_json if options["json"] else f"{cancelled}: cancelled.")


def _inquiry(number: int) -> str:
    inquiry = Inquiry.objects.filter(pk=number).first()
    if inquiry is None:
        raise NotFound(f"There is no question {number}.")
    return f"Question {cancel_job(inquiry, by=None).pk}"


COMMANDS = (
    Subcommand(
        "cancel-job",
        "end a background job that makes something of a run",
        _add_job_arguments,
        _cancel_job,
    ),
    cancel_command(
        "inquiry",
        "end a question that a background job answers",
        "in the answer that it is asked",
        _inquiry,
    ),
)
