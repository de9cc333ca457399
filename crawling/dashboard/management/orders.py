"""Reads a crawl's order from the command line."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from crawling.dashboard.management.command_errors import read_json_object
from crawling.orders.fields import OrderField
from crawling.orders.order import FIELDS
from crawling.runs.crawls.creation import name_from_seeds

OPTIONS = tuple(one for one in FIELDS if one.question.option)


def add_order_arguments(parser: ArgumentParser) -> None:
    """Add the fields of an order that have an option; a file may contain all fields."""
    parser.add_argument(
        "--file",
        type=Path,
        help="a JSON file with the fields of an order; options given here override it",
    )
    for one in OPTIONS:
        parser.add_argument(one.question.option, dest=one.name, **option_of(one))


def option_of(one: OrderField) -> dict[str, Any]:
    """The argparse arguments for a field's option. Numbers remain text, since the order checks
    them.
    """
    question = one.question
    if one.kind is bool:
        return {
            "action": "store_false" if one.default else "store_true",
            "default": None,
            "help": f"do not {question.meaning}" if one.default else question.meaning,
        }
    if one.kind in (list, dict):
        return {"action": "append", "metavar": question.metavar, "help": question.meaning}
    default = f"{one.default:g}" if one.kind is float else one.default
    usual = "" if one.default in (None, "") else f" (default: {default})"
    return {"metavar": question.metavar, "help": question.meaning + usual}


def order_fields(seeds: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """The order's fields, unchecked, with a name."""
    fields = given_fields(options)
    if seeds:
        fields["seeds"] = seeds
    fields.setdefault("seeds", [])
    fields.setdefault("name", name_from_seeds(fields["seeds"]))
    return fields


def given_fields(options: dict[str, Any]) -> dict[str, Any]:
    """The order's fields from file and options, unchecked. Missing fields are left out."""
    fields = read_json_object(options["file"], "--file") if options["file"] else {}
    for one in OPTIONS:
        given = options[one.name]
        if one.kind is dict and given:
            fields[one.name] = dict(one.halves(entry, "=") for entry in given)
        elif given is not None:
            fields[one.name] = given
    return fields
