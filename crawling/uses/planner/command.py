"""`crawl plan`: the resources that a crawl of a given size needs."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, OutputWrapper
from rich.console import Console
from rich.table import Table

from crawling.dashboard.management.command_words import Subcommand
from crawling.dashboard.management.orders import option_of
from crawling.uses.planner.installation_rates import measured_rates
from crawling.uses.planner.plan import ERRATUM, CapacityPlan, plan_capacity
from crawling.uses.planner.planned_crawl import FIELDS, read_planned_crawl

WORDS = "calculate what a crawl of a given size needs"


def add_plan_arguments(parser: ArgumentParser) -> None:
    for one in FIELDS:
        parser.add_argument(one.question.option, dest=one.name, **option_of(one))
    parser.add_argument(
        "--measured",
        action="store_true",
        help="assume the rates and sizes that were measured here; options given here override it",
    )


def show_plan(options: dict[str, Any], out: OutputWrapper) -> None:
    """Raises CommandError."""
    plan = plan_from(options)
    if options["json"]:
        out.write(plan_json(plan))
    else:
        Console(markup=False, emoji=False).print(plan_table(plan))


def plan_from(options: dict[str, Any]) -> CapacityPlan:
    """The plan for these options. Raises CommandError with a line for each wrong option."""
    given = {one.name: options[one.name] for one in FIELDS if options[one.name] is not None}
    assumed = measured_rates().as_input() if options["measured"] else {}
    crawl, errors = read_planned_crawl(assumed | given)
    if crawl is None:
        names = {one.name: one.question.option for one in FIELDS}
        lines = [f"{names[name]} {sentence}" for name, sentence in errors.items()]
        raise CommandError("\n  ".join(["no plan:", *lines]))
    return plan_capacity(crawl)


def plan_json(plan: CapacityPlan) -> str:
    return json.dumps(asdict(plan), indent=2)


def plan_table(plan: CapacityPlan) -> Table:
    """The figures, followed by the reasons why the plan is impossible, or by errors in the source
    document.
    """
    table = Table("figure", box=None, pad_edge=False, caption=plan.obstacle or ERRATUM)
    table.caption_justify = "left"
    table.add_column("need", justify="right")
    table.add_column("formula")
    for need in plan.needs:
        table.add_row(need.label, need.amount, need.formula)
    return table


COMMANDS = (Subcommand("plan", WORDS, add_plan_arguments, show_plan, has_crawl=False),)
