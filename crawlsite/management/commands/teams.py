"""Lists, creates, renames and deletes teams, sets their members, and sets the crawls on which
operators may act.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from crawling.base.errors import BadOrder, CrawlError
from crawling.installation.permissions import acts_on_own_only
from crawling.models import Team
from crawling.runs.crawls.teams import (
    create_team,
    delete_team,
    rename_team,
    set_members,
    set_team_rule,
)
from crawlsite.administration.team_api import team_facts


class Command(BaseCommand):
    help = "List teams, make, rename and delete them, set their members and the rule of teams."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
        listed = commands.add_parser("list", help="list the teams with their members")
        listed.add_argument("--json", action="store_true", help="print JSON for programs")
        rule = commands.add_parser("rule", help="show or set on which crawls operators act")
        rule.add_argument(
            "crawls",
            nargs="?",
            choices=("own", "all"),
            help="own: on their own and their teams' only; all: on all crawls",
        )
        for name, words in (
            ("create", "make a team"),
            ("rename", "rename a team that no crawl and no share goes by"),
            ("members", "replace the members"),
            ("delete", "delete a team that nothing uses"),
        ):
            command = commands.add_parser(name, help=words)
            command.add_argument("name", help="of the team")
            if name == "rename":
                command.add_argument("new_name")
            if name in ("create", "members"):
                command.add_argument("--members", nargs="*", default=[], metavar="USER")

    def handle(self, **options: Any) -> None:
        try:
            self.stdout.write(self._output_of(options["command"], options))
        except BadOrder as error:
            raise CommandError("; ".join(error.errors.values())) from error
        except CrawlError as error:
            raise CommandError(str(error)) from error

    def _output_of(self, command: str, options: dict[str, Any]) -> str:
        if command == "list":
            facts = [team_facts(team) for team in Team.objects.all()]
            if options["json"]:
                return json.dumps(facts, indent=2)
            return "\n".join(f"{one['name']}: {', '.join(one['members']) or '–'}" for one in facts)
        if command == "rule":
            if options["crawls"]:
                set_team_rule(own_crawls_only=options["crawls"] == "own")
            which = (
                "crawls of their own and of their teams only"
                if acts_on_own_only()
                else "all crawls"
            )
            return f"Operators act on {which}."
        name = options["name"]
        if command == "create":
            return f"The team {create_team(name, options['members']).name} is made."
        team = Team.objects.filter(name=name).first()
        if team is None:
            raise CommandError(f"There is no team {name!r}; `manage.py teams list` shows them.")
        if command == "delete":
            delete_team(team)
            return f"The team {name} is deleted."
        if command == "rename":
            rename_team(team, options["new_name"])
        else:
            set_members(team, options["members"])
        return f"The team {team.name} is saved."
