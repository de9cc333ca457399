"""`crawl bulk ACTION [CRAWL…]`: one action on many crawls."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from crawling.base.errors import BadOrder
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.crawls.bulk import (
    ACTIONS,
    BulkAction,
    BulkResult,
    bulk_action,
    chosen_crawls,
)
from crawling.dashboard.crawls.export import write_export
from crawling.dashboard.crawls.filter import STATES, CrawlFilter
from crawling.dashboard.management.command_errors import refusal_error, require_worker
from crawling.dashboard.management.crawl_verbs import confirm
from crawling.models import CrawlJob, DeletedKind
from crawling.orders.seeds import BadTags, read_tags
from crawling.runs.transitions import ENDING

WORDS = "start, steer, schedule, tag, delete, restore or export many crawls"
EXPORT = "export"
#: the options of a schedule, by its fields
TIMING = {"cron": "--cron", "every_minutes": "--every-minutes", "time_zone": "--time-zone"}


def add_bulk_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=(*ACTIONS, EXPORT))
    parser.add_argument(
        "crawls", nargs="*", metavar="CRAWL", help="names or numbers; default: all that match"
    )
    parser.add_argument("--state", choices=STATES, default="", help="only crawls in this state")
    parser.add_argument(
        "--search", default="", metavar="TEXT", help="part of a name or a start URL"
    )
    parser.add_argument("--tag", default="", help="only crawls with this tag")
    parser.add_argument("--owner", default="", help="only those that this user made")
    parser.add_argument("--team", default="", help="only those of this team")
    parser.add_argument("--tags", default="", metavar="TAG,TAG", help="for tag and untag")
    parser.add_argument("--cron", metavar="LINE", help="for schedule: '30 2 * * 1-5'")
    parser.add_argument("--every-minutes", metavar="N", help="for schedule, instead of --cron")
    parser.add_argument("--time-zone", metavar="NAME", help="of --cron (default: UTC)")
    parser.add_argument(
        "--over-minutes", type=int, default=0, metavar="N", help="for schedule: spread the starts"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="for export: a ZIP file")
    parser.add_argument("--yes", action="store_true", help="do not ask on a terminal")


def act_on_many(options: dict[str, Any]) -> str:
    """Apply the action and return the text to print. Raises CommandError."""
    action = options["action"]
    crawls = _chosen_crawls(action, options)
    if action == EXPORT:
        return _export_crawls(crawls, options)
    if action == "start":
        require_worker()
    if action in (*ENDING, "start", "delete"):
        question = f"{action.capitalize()} {len(crawls):,} crawls?"
        confirm("\n".join(crawl.name for crawl in crawls), question, options)
    timing = {name: options[name] for name in TIMING if options[name]}
    try:
        over = options["over_minutes"]
        tags = read_tags(options["tags"])
        act = BulkAction(action, tags=tags, schedule=timing, over_minutes=over)
        done = bulk_action(act, crawls, by=None)
    except BadTags as error:
        raise CommandError(f"nothing was changed: {error}") from error
    except BadOrder as error:
        raise refusal_error("nothing was changed:", error) from error
    return _result_text(action, len(crawls), done, options)


def _chosen_crawls(action: str, options: dict[str, Any]) -> list[CrawlJob]:
    names = ("state", "tag", "owner", "team")
    asked = {name: options[name] for name in names if options[name]}
    if options["search"]:
        asked["search"] = options["search"]
    if options["crawls"]:
        return chosen_crawls(action, ids=_ids(action, options["crawls"]), by=None)
    if not asked:
        raise CommandError("Name crawls, or say which: --state, --search, --tag, --owner, --team.")
    return chosen_crawls(action, wanted=CrawlFilter(**asked), by=None)


def _ids(action: str, typed: Sequence[str]) -> list[int]:
    if action != "restore":
        return [find_crawl(one).pk for one in typed]
    gone = CrawlJob.all_objects.filter(restorable_until__isnull=False).order_by("pk")
    by_word: dict[str, int] = {}
    for pk, name in gone.values_list("pk", "name"):
        by_word |= {str(pk): pk, name: pk}
    if unknown := [one for one in typed if one not in by_word]:
        raise CommandError(f"There is no deleted {DeletedKind.CRAWL} {unknown[0]!r}.")
    return [by_word[one] for one in typed]


def _export_crawls(crawls: Sequence[CrawlJob], options: dict[str, Any]) -> str:
    if options["output"] is None:
        raise CommandError("`crawl bulk export` needs --output, the ZIP file to write.")
    with options["output"].open("wb") as target:
        write_export(crawls, target)
    if options["json"]:
        return json.dumps({"exported": len(crawls), "file": str(options["output"])})
    return f"{len(crawls):,} crawls are exported to {options['output']}."


def _result_text(action: str, count: int, done: BulkResult, options: dict[str, Any]) -> str:
    if options["json"]:
        told = {"chosen": count, "changed": done.changed, "refused": [*done.refused.values()]}
        return json.dumps(told, indent=2)
    lines = [f"{action}: done to {done.changed:,} of {count:,} crawls."]
    return "\n  ".join([*lines, *done.refused.values()])
