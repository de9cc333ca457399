"""The verbs of `crawl VERB CRAWL`, for an existing crawl."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from crawling.base.errors import BadSeeds
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.base.recently_deleted import deleted_rows, restore
from crawling.dashboard.management.command_errors import require_worker
from crawling.models import CrawlJob, DeletedKind
from crawling.runs.crawls.added_seeds import add_seeds_to_crawl
from crawling.runs.crawls.creation import clone_crawl
from crawling.runs.crawls.tags import set_tags
from crawling.runs.crawls.teams import hand_over
from crawling.runs.housekeeping.deletion import delete_crawl
from crawling.runs.steering import confirmation_question
from crawling.runs.transitions import CONFIRMED
from crawling.runs.verbs import VERBS
from crawling.runs.waiting_urls import retry_failed

Options = dict[str, Any]


def _apply_verb(crawl: CrawlJob, options: Options) -> None:
    word, minutes = options["verb"], options.get("keep")
    verb = VERBS[word]
    if word == "start":
        require_worker()
    if word in CONFIRMED:
        confirm(confirmation_question(crawl, word), f"{word.capitalize()} {crawl.name}?", options)
    verb.do(crawl, **({} if minutes is None else {"keep_seconds": 60 * minutes}))


def confirm(consequence: str, question: str, options: Options) -> None:
    """If there is a consequence, ask for a confirmation on a terminal. Programs are not asked, nor
    are users with `--yes`. Raises CommandError if the answer is no.
    """
    if not consequence or options["yes"] or not sys.stdin.isatty():
        return
    print(consequence, file=sys.stderr)
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("Nothing was changed.")


def _retry_failed(crawl: CrawlJob, options: Options) -> None:
    retry_failed(crawl, status=options["status"])


def _set_tags(crawl: CrawlJob, options: Options) -> None:
    set_tags(crawl, options["tags"].split(",") if options["tags"] else [])


#: the help and the function of each verb; the function may raise CrawlError, and the crawl is shown
#: afterwards
COMMANDS: dict[str, tuple[str, Callable[[CrawlJob, Options], object]]] = {
    "show": ("print the state of a crawl", lambda crawl, options: None),
    **{word: (verb.help, _apply_verb) for word, verb in VERBS.items()},
    "retry": ("fetch failed URLs again", _retry_failed),
    "tag": ("replace the tags of a crawl", _set_tags),
    "hand-over": (
        "give a crawl to another user, or to another team too",
        lambda crawl, options: hand_over(crawl, options["to"], options["team"]),
    ),
}


def add_arguments(verb: str, parser: ArgumentParser) -> None:
    if verb in VERBS and VERBS[verb].may_keep:
        parser.add_argument(
            "--keep", type=float, metavar="MINUTES", help="reserve what it holds for so long"
        )
    elif verb in CONFIRMED:
        parser.add_argument("--yes", action="store_true", help="do not ask on a terminal")
    elif verb == "retry":
        parser.add_argument(
            "--status",
            type=int,
            metavar="N",
            help="only URLs with this status (default: all that failed)",
        )
    elif verb == "hand-over":
        parser.add_argument("--to", required=True, metavar="USER", help="the new owner")
        parser.add_argument("--team", help="the new team; '': none; default: as before")
    elif verb == "tag":
        parser.add_argument("--tags", metavar="TAG,TAG", help="default: none")


def clone_crawl_by_name(crawl: CrawlJob, options: Options) -> CrawlJob:
    return clone_crawl(crawl, name=options["name"])


def delete_crawl_by_name(crawl: CrawlJob, typed: str, *, for_good: bool) -> None:
    """Delete a crawl with all its data.

    Permanent deletion requires the name, since a number is too easily mistyped.
    """
    if for_good and typed != crawl.name:
        raise CommandError(
            f"`crawl delete --for-good` needs the whole name, {crawl.name!r}: all runs, pages and "
            "archive files are removed, and cannot be restored."
        )
    delete_crawl(crawl, by=None, for_good=for_good)


def restore_by_name(typed: str) -> str:
    """Restore the crawl with this number or name; of several with a name, the last deleted one.
    Return its name.
    """
    for row in deleted_rows(None):
        if row.kind == DeletedKind.CRAWL and typed in (row.name, str(row.id)):
            return restore(row.kind, row.id, by=None)
    raise CommandError(f"There is no deleted crawl {typed!r}; see `crawl deleted`.")


def add_seeds_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("seeds", nargs="+", metavar="URL", help="start URLs to add")
    parser.add_argument(
        "--widen", action="store_true", help="extend the scope to start URLs outside of it"
    )
    parser.add_argument(
        "--resume", action="store_true", help="resume the latest run for them if it has ended"
    )


def add_to_crawl(crawl: str, options: dict[str, Any]) -> str:
    """Add the seeds and return the text to print.

    Raises CommandError with each mistake on a separate line.
    """
    try:
        wanted = {name: options[name] for name in ("widen", "resume")}
        added = add_seeds_to_crawl(find_crawl(crawl), options["seeds"], **wanted)
    except BadSeeds as error:
        outside = [f"{url} is outside the scope; --widen takes it in" for url in error.outside]
        raise CommandError(
            "\n  ".join(["nothing was added:", *error.mistakes, *outside])
        ) from error
    if options["json"]:
        return json.dumps(asdict(added), indent=2)
    queued = "they wait for the next run" if added.queued is None else f"{added.queued:,} queued"
    without = added.without_secrets
    return "\n  ".join(
        [
            f"{len(added.added):,} added; {queued}.",
            *(f"{url}: {what}" for url, what in added.known.items()),
            *(f"{origin} gets no secret headers: give them anew" for origin in without),
        ]
    )
