"""`crawl watch`: watch pages of a crawl, list watches with their findings, or remove a watch."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from crawling.base.errors import BadOrder
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.management.command_errors import refusal_error
from crawling.dashboard.management.command_words import Subcommand
from crawling.models import CrawlJob
from crawling.orders.scope.url_rules import UrlRuleKind
from crawling.uses.watches.api import event_row, watch_row
from crawling.uses.watches.models import PageEvent, Watch, WatchEvent
from crawling.uses.watches.watching import (
    WatchFields,
    create_watch,
    events_of,
    remove_watch,
    renew_feed,
)

#: the number of events that are printed
SHOWN = 100
Options = dict[str, Any]
#: the options that only a new watch has
OF_NEW = ("selector", "ignore", "ignore_numbers", "only", "picture", "ignore_region")


WORDS = "watch pages: what changed, is gone or new after each run"


def add_watch_arguments(parser: ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--page", metavar="URL", help="watch this page")
    what.add_argument("--pattern", metavar="RE2", help="watch pages whose URLs hold this")
    what.add_argument("--host", help="watch the pages of this host")
    what.add_argument("--events", action="store_true", help="list what was found, latest first")
    what.add_argument("--remove", type=int, metavar="WATCH", help="remove this watch")
    what.add_argument(
        "--renew-feed", type=int, metavar="WATCH", help="give its feed a new secret address"
    )
    parser.add_argument("--selector", default="", help="compare only what this CSS selects")
    parser.add_argument(
        "--only", action="append", choices=PageEvent.values, help="this event only; repeatable"
    )
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="RE2", help="no change; repeatable"
    )
    parser.add_argument(
        "--ignore-numbers", action="store_true", help="numbers and dates are no change"
    )
    parser.add_argument(
        "--picture",
        type=float,
        metavar="PERCENT",
        help="compare screenshots; a page changed if so many of its pixels differ",
    )
    parser.add_argument(
        "--ignore-region",
        action="append",
        default=[],
        nargs=4,
        type=int,
        metavar=("LEFT", "TOP", "WIDTH", "HEIGHT"),
        help="a part of screenshots that is not compared, in pixels; repeatable",
    )


def show_watches(options: Options, out: OutputWrapper) -> None:
    """Print watches, or change them. Raises CommandError or CrawlError."""
    try:
        out.write(change_watches(find_crawl(options["crawl"]), options))
    except BadOrder as error:
        raise refusal_error("no watch was made:", error) from error


def change_watches(crawl: CrawlJob, options: Options) -> str:
    """Apply the options and return the text to print; without options, the list. Raises
    CrawlError.
    """
    if options["remove"] is not None:
        remove_watch(crawl, options["remove"], by=None)
        return _as_text({"removed": options["remove"]}, "It is removed with its events.", options)
    if options["renew_feed"] is not None:
        return _printed_watches([renew_feed(crawl, options["renew_feed"], by=None)], options)
    if options["events"]:
        return _printed_events(list(events_of(crawl)[:SHOWN]), options)
    asked = [(kind, options[kind]) for kind in UrlRuleKind if options[kind]]
    if asked:
        return _printed_watches(
            [create_watch(crawl, _fields(*asked[0], options), by=None)], options
        )
    if any(options[name] for name in OF_NEW):
        raise CommandError("Name what is watched: --page, --pattern or --host.")
    return _printed_watches(list(crawl.watches.select_related("created_by")), options)


def _fields(kind: str, text: str, options: Options) -> WatchFields:
    events = options["only"] or PageEvent.values
    selector, numbers = options["selector"], options["ignore_numbers"]
    ignore, percent, regions = (options[name] for name in ("ignore", "picture", "ignore_region"))
    return WatchFields(kind, text, selector, events, ignore, numbers, percent, regions)


def _printed_watches(found: list[Watch], options: Options) -> str:
    rows = [watch_row(one) for one in found]
    lines = [
        f"{row['id']}  {row['kind']} {row['text']}  {row['selector']}  "
        f"{', '.join(row['events'])}\n  {row['feed']}"
        for row in rows
    ]
    return _as_text(rows, "\n".join(lines) or "It has no watches.", options)


def _printed_events(found: list[WatchEvent], options: Options) -> str:
    lines = [
        f"{event.found_at:%Y-%m-%d %H:%M}  {event}\n{event.note or event.diff_text}".rstrip()
        for event in found
    ]
    return _as_text(
        [event_row(event) for event in found], "\n".join(lines) or "No events.", options
    )


def _as_text(as_json: Any, text: str, options: Options) -> str:
    return json.dumps(as_json, indent=2, default=str) if options["json"] else text


COMMANDS = (Subcommand("watch", WORDS, add_watch_arguments, show_watches),)
