"""Turns the words of `crawl` into a command and its options."""

from __future__ import annotations

from argparse import Action, ArgumentParser, _SubParsersAction
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.management.base import OutputWrapper

HELP = {"-h", "--help", "--version"}
WAIT = (
    "follow the crawl to its end and print what it waits for; exit status 1 if it failed, 3 if "
    "it continues after --max-seconds"
)


@dataclass(frozen=True)
class Subcommand:
    """A command of `crawl` that a use of crawls offers."""

    name: str
    words: str
    add_arguments: Callable[[ArgumentParser], None]
    #: prints to the stream; raises CrawlError and CommandError
    do: Callable[[dict[str, Any], OutputWrapper], None]
    #: whether its first argument is a crawl
    has_crawl: bool = True


def command_first(parser: ArgumentParser, args: Sequence[str]) -> list[str]:
    """The words, reordered as `[options of the parser] COMMAND [options of the command] …`.

    The command is the first word that is neither an option nor an option's value. If this word is
    no command of the parser, the words are seeds of a new crawl.
    """
    commands = next(action for action in parser._actions if isinstance(action, _SubParsersAction))
    common = _options(parser)
    known = common | {
        name: action for sub in commands.choices.values() for name, action in _options(sub).items()
    }
    front: list[str] = []
    rest: list[str] = []
    words = list(args)
    while words and words[0].startswith("-") and words[0] != "--":
        name = words[0].partition("=")[0]
        has_value = "=" not in words[0] and name in known and known[name].nargs != 0
        (front if name in common else rest).extend(words[: 1 + has_value])
        del words[: 1 + has_value]
    if words and words[0] in commands.choices:
        return [*front, words[0], *rest, *words[1:]]
    if not words and HELP.intersection(front):
        return front
    return [*front, "new", *rest, *words]


def _options(parser: ArgumentParser) -> dict[str, Action]:
    return {name: action for action in parser._actions for name in action.option_strings}


class Commands:
    def __init__(self, commands: Any) -> None:
        self._commands = commands

    def __call__(
        self, name: str, words: str, do: Any, *, waits: bool = False, has_crawl: bool = True
    ) -> ArgumentParser:
        command: ArgumentParser = self._commands.add_parser(name, help=words, description=words)
        command.set_defaults(do=do, verb=name, wait=False)
        command.add_argument("--json", action="store_true", help="print JSON")
        if waits:
            command.add_argument("--wait", "--follow", action="store_true", help=WAIT)
        if has_crawl:
            command.add_argument("crawl", metavar="CRAWL", help="its name or number")
        return command
