"""`crawl collection`: list collections, create, change or share one, and write its WACZ file."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from crawling.archive.packages.reading import read_package
from crawling.base.errors import ArchiveTrouble, BadOrder, WrongState
from crawling.dashboard.base.crawl_views import find_crawl
from crawling.dashboard.management.command_errors import page_address, refusal_error
from crawling.dashboard.management.command_words import Subcommand
from crawling.jobs.running import run_in_this_process
from crawling.uses.collections.api import collection_detail, collection_row
from crawling.uses.collections.changes import (
    CollectionFields,
    add_members,
    create_collection,
    edit_collection,
    find_collection,
    remove_members,
)
from crawling.uses.collections.jobs import file_of, open_file
from crawling.uses.collections.members import member_rows
from crawling.uses.collections.models import Collection
from crawling.uses.collections.pages import listed_collections
from crawling.uses.collections.restoring import delete_collection, restore_by_name
from crawling.uses.collections.share_links import create_link
from serving.listing.command import write_whole

#: the most collections that are listed
SHOWN = 1_000
WORDS = "put crawls and pages together under a name, share them, write one WACZ file of them"
Options = dict[str, Any]


def add_collection_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "collection", nargs="?", metavar="COLLECTION", help="its name or number; without it, list"
    )
    parser.add_argument("--new", action="store_true", help="create one with this name")
    parser.add_argument("--description", help="say what it is about")
    parser.add_argument(
        "--add-crawl",
        action="append",
        default=[],
        metavar="CRAWL",
        help="add a crawl, by name or number, with all its runs; repeatable",
    )
    parser.add_argument(
        "--add-page",
        action="append",
        default=[],
        type=int,
        metavar="PAGE",
        help="add a stored page by its number; repeatable",
    )
    parser.add_argument(
        "--remove",
        action="append",
        default=[],
        type=int,
        metavar="MEMBER",
        help="take a member out by its number; repeatable",
    )
    last = parser.add_mutually_exclusive_group()
    last.add_argument("--wacz", type=Path, metavar="FILE", help="write all of it as a WACZ file")
    last.add_argument(
        "--share", type=int, metavar="DAYS", help="create a link that shows it without a log-in"
    )
    last.add_argument("--delete", action="store_true", help="delete it; its crawls and pages stay")
    last.add_argument("--restore", action="store_true", help="restore a deleted one within a day")


def show_collections(options: Options, out: OutputWrapper) -> None:
    """List or change collections. Raises CommandError or CrawlError."""
    if not options["collection"]:
        out.write(_collections_as_text(as_json=options["json"]))
        return
    try:
        collection = _change_collection(options)
        out.write(_do_last_action(collection, options))
    except BadOrder as error:
        raise refusal_error("nothing was done:", error) from error


def _collections_as_text(*, as_json: bool) -> str:
    rows = [collection_row(one) for one in listed_collections()[:SHOWN]]
    if as_json:
        return json.dumps(rows, indent=2, default=str)
    lines = (
        f"{row['id']}  {row['name']}  {row['crawls']} crawls, {row['singles']} single pages"
        for row in rows
    )
    return "\n".join(lines) or "There are no collections."


def _change_collection(options: Options) -> Collection:
    """The collection, after the changes in the options are applied."""
    name, about = options["collection"], options["description"]
    if options["restore"]:
        return restore_by_name(name)
    if options["new"]:
        collection = create_collection(CollectionFields(name, about or ""), by=None)
    else:
        collection = find_collection(name)
        if about is not None:
            fields = CollectionFields(collection.name, about, collection.team)
            edit_collection(collection, fields, by=None)
    crawls = [find_crawl(one).pk for one in options["add_crawl"]]
    if crawls or options["add_page"]:
        add_members(collection, crawls=crawls, pages=options["add_page"], by=None)
    if options["remove"]:
        remove_members(collection, options["remove"], by=None)
    return collection


def _do_last_action(collection: Collection, options: Options) -> str:
    """Perform the last action in the options. Return the text to print."""
    if options["delete"]:
        told = {"deleted": collection.pk}
        delete_collection(collection, by=None)
        return _json_or_text(
            told,
            "It is deleted, and can be restored for a day. Its crawls and pages are kept.",
            options,
        )
    if options["share"] is not None:
        link, token = create_link(collection, days=options["share"], by=None)
        url = page_address("shared-collection", token)
        text = f"{url}\nExpires at {link.expires_at:%Y-%m-%d %H:%M} UTC. It is not shown again."
        return _json_or_text({"url": url, "expires_at": link.expires_at}, text, options)
    if options["wacz"] is not None:
        return _write_wacz(collection, options)
    rows = member_rows(collection)
    lines = [
        f"{row.id}  {row.kind} {row.crawl}  {row.name}  {row.pages:,} pages, {row.bytes:,} bytes"
        for row in rows
    ]
    told = collection_detail(collection) | {"members": [asdict(row) for row in rows]}
    return _json_or_text(told, "\n".join(lines) or f"Nothing is in {collection} yet.", options)


def _write_wacz(collection: Collection, options: Options) -> str:
    """Make the WACZ file in this process and write it."""
    place: Path = options["wacz"]
    with suppress(WrongState):  # the state says what is wrong
        run_in_this_process(open_file(collection))
    state = file_of(collection)
    file = state.file
    if file is None:
        raise ArchiveTrouble(state.trouble or "Another process writes it; ask again in a moment.")
    try:
        write_whole(place, read_package(file, 0, file.bytes))
    except OSError as error:
        raise CommandError(f"--wacz: {place} cannot be written ({error.strerror}).") from error
    facts = {"file": str(place), "bytes": file.bytes, "pages": file.pages}
    return _json_or_text(facts, f"{place}: {file.pages:,} pages, {file.bytes:,} bytes", options)


def _json_or_text(as_json: Any, text: str, options: Options) -> str:
    return json.dumps(as_json, indent=2, default=str) if options["json"] else text


COMMANDS = (
    Subcommand("collection", WORDS, add_collection_arguments, show_collections, has_crawl=False),
)
