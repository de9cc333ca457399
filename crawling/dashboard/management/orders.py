"""A crawl's order as the command line gives it."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from crawling.crawls.creation import name_for
from crawling.dashboard.management.command_errors import read_json_object


def add_order_arguments(parser: ArgumentParser) -> None:
    """The fields of an order that have an option of their own; a file has them all."""
    parser.add_argument("--name", help="default: the first seed's host")
    parser.add_argument(
        "--file", type=Path, help="a JSON file with the fields of an order; options given here win"
    )
    parser.add_argument(
        "--scope", help="which links to follow: those to the seeds' host (default), path or domain"
    )
    parser.add_argument(
        "--order", help="order of visits: breadth_first (default), depth_first, best_first or opic"
    )
    parser.add_argument("--max-pages", help="stop after so many pages")
    parser.add_argument("--max-depth", help="follow links so many steps from the seeds")
    parser.add_argument("--max-bytes", help="stop after so many bytes of documents")
    parser.add_argument("--max-seconds", help="stop so many seconds after the first fetch")
    parser.add_argument(
        "--delay", dest="delay_seconds", help="seconds between two fetches from a host (default: 1)"
    )
    parser.add_argument("--processes", help="crawl processes that share the hosts (default: 1)")
    parser.add_argument(
        "--priority",
        help="at the bank, -10 to 10: each step is a minute's lead, and 10 is urgent (default: 0)",
    )
    parser.add_argument(
        "--batch-size",
        help="URLs a host hands out at a time; 1 keeps the order exact (default: 100)",
    )
    parser.add_argument(
        "--no-archive",
        dest="archive",
        action="store_false",
        default=None,
        help="keep no WARC files of the answers",
    )
    parser.add_argument(
        "--obey-nofollow",
        action="store_true",
        default=None,
        help="leave links marked nofollow alone",
    )
    parser.add_argument(
        "--requisites",
        action="store_true",
        default=None,
        help="fetch images, sheets, scripts and media, too",
    )
    parser.add_argument(
        "--include",
        action="append",
        metavar="REGEX",
        help="only addresses that hold one such expression",
    )
    parser.add_argument(
        "--exclude", action="append", metavar="REGEX", help="no addresses that hold this expression"
    )
    parser.add_argument(
        "--reuse-seconds",
        help="take pages that another crawl fetched so lately from there (default: 0, none)",
    )
    parser.add_argument(
        "--revisit-days",
        help="leave pages that stay the same alone for so many days at most (default: 0, ask "
        "each run)",
    )
    parser.add_argument(
        "--extract",
        action="append",
        metavar="NAME=SELECTOR",
        help="take what the CSS selector matches out of pages",
    )
    parser.add_argument(
        "--cookies",
        action="store_true",
        default=None,
        help="keep each host's cookies for the run and send them back",
    )
    parser.add_argument(
        "--header",
        dest="headers",
        action="append",
        metavar="NAME=VALUE",
        help="send a header (secrets belong in --file)",
    )
    parser.add_argument(
        "--proxy",
        help="fetch through socks5://host:port or http://host:port (a password belongs in --file)",
    )
    parser.add_argument(
        "--importance",
        action="append",
        metavar="TEXT=WEIGHT",
        help="best first: what a piece of an address is worth",
    )
    parser.add_argument(
        "--path-ascending",
        action="store_true",
        default=None,
        help="fetch the directories above each address, too",
    )
    parser.add_argument(
        "--claim",
        action="append",
        metavar="CLASS=UNITS",
        help="the most it may hold of a resource class",
    )


def order_fields(seeds: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """The order's fields, unchecked, with a name."""
    fields = given_fields(options)
    if seeds:
        fields["seeds"] = seeds
    fields.setdefault("seeds", [])
    fields.setdefault("name", name_for(fields["seeds"]))
    return fields


def given_fields(options: dict[str, Any]) -> dict[str, Any]:
    """The order's fields from file and options, unchecked; what was not given is left out."""
    fields = read_json_object(options["file"], "--file") if options["file"] else {}
    for name in (
        "name",
        "scope",
        "order",
        "max_pages",
        "max_depth",
        "max_bytes",
        "max_seconds",
        "delay_seconds",
        "processes",
        "batch_size",
        "priority",
        "archive",
        "obey_nofollow",
        "requisites",
        "cookies",
        "proxy",
        "path_ascending",
        "include",
        "exclude",
        "reuse_seconds",
        "revisit_days",
    ):
        if options[name] is not None:
            fields[name] = options[name]
    for name in ("claim", "extract", "headers"):
        if options[name]:
            fields[name] = dict(entry.partition("=")[::2] for entry in options[name])
    if options["importance"]:
        fields["importance"] = dict(entry.rpartition("=")[::2] for entry in options["importance"])
    return fields
