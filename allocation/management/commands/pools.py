"""List pools, create one, and set their capacities and the shares of teams."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from allocation import selectors
from allocation.errors import AllocationError
from allocation.models import Pool, Share
from allocation.services import ShareLimits, change_share, create_pool_like, set_capacity
from allocation.wording import whole_number

UNITS = "CLASS=UNITS"


class Command(BaseCommand):
    help = "List resource pools, create one, or set capacities and shares of teams."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
        listed = commands.add_parser("list", help="list the pools with their capacities")
        listed.add_argument("--json", action="store_true", help="print JSON for programs")
        for name, words in (
            ("create", "create a pool with the classes of the default pool"),
            ("set", "set the capacity of classes of a pool"),
        ):
            command = commands.add_parser(name, help=words)
            command.add_argument("name", help="of the pool")
            command.add_argument("capacity", nargs="+", metavar=UNITS)
        share = commands.add_parser("share", help="set the limit and the reserve of a team")
        share.add_argument("name", help="of the pool")
        share.add_argument("team", help="its name; it has a share once a crawl of it has run there")
        share.add_argument(
            "--limit", action="append", default=[], metavar=UNITS, help="CLASS=none: no limit"
        )
        share.add_argument("--reserve", action="append", default=[], metavar=UNITS)

    def handle(self, **options: Any) -> None:
        try:
            # a method for each word of the command: `_list`, `_create`, `_set`, `_share`
            getattr(self, f"_{options['command']}")(options)
        except AllocationError as error:
            raise CommandError(str(error)) from error

    def _list(self, options: dict[str, Any]) -> None:
        pools = Pool.objects.filter(is_experiment=False).order_by("pk")
        views = [selectors.bank_view(pk) for pk in pools.values_list("pk", flat=True)]
        if options["json"]:
            told = [asdict(view) for view in views]
            self.stdout.write(json.dumps(told, indent=2, default=str))
            return
        for view in views:
            units = ", ".join(
                f"{one.key} {one.unit_words.part(one.available, one.capacity)}"
                for one in view.resources
            )
            self.stdout.write(f"{view.name}: {units} free")
            for share in view.shares:
                limits = (
                    f"{one.key} {one.unit_words.number(claimed)} of no limit"
                    if limit is None
                    else f"{one.key} {one.unit_words.part(claimed, limit)}"
                    for one, claimed, limit in zip(
                        view.resources, share.claimed, share.own_limits, strict=True
                    )
                )
                self.stdout.write(f"  {share.name}: {', '.join(limits)} claimed")

    def _create(self, options: dict[str, Any]) -> None:
        pool = create_pool_like(name=options["name"], capacity=_read_units(options["capacity"]))
        self.stdout.write(f"Pool {pool.name} is made.")

    def _set(self, options: dict[str, Any]) -> None:
        pool = set_capacity(
            pool=_pool_named(options["name"]).pk, capacity=_read_units(options["capacity"])
        )
        self.stdout.write(f"The capacity of {pool.name} is set.")

    def _share(self, options: dict[str, Any]) -> None:
        share = Share.objects.filter(
            pool=_pool_named(options["name"]), name=options["team"]
        ).first()
        if share is None:
            raise CommandError(
                f"{options['team']} has no share of {options['name']} yet: it has one once a "
                "crawl of it has run there."
            )
        free = [entry.removesuffix("=none") for entry in options["limit"] if "=none" in entry]
        limits = _read_units([entry for entry in options["limit"] if "=none" not in entry])
        change_share(
            share=share.pk,
            limits=ShareLimits(_read_units(options["reserve"]), {**limits, **dict.fromkeys(free)}),
        )
        self.stdout.write(f"The share of {share.name} in {options['name']} is set.")


def _pool_named(name: str) -> Pool:
    pool = Pool.objects.filter(name=name).first()
    if pool is None:
        raise CommandError(f"There is no pool {name!r}; `manage.py pools list` shows them.")
    return pool


def _read_units(entries: list[str]) -> dict[str, int]:
    """The amounts in options. Raises CommandError unless each is CLASS=UNITS."""
    found = {}
    for entry in entries:
        key, _, units = entry.partition("=")
        number = whole_number(units, most_digits=9)
        if not key or number is None:
            raise CommandError(f"{entry!r} is not {UNITS}, such as fetch_slots=16.")
        found[key] = number
    return found
