"""The list of URLs that no crawl may fetch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple

from crawling.web.addresses import Address, BadUrl, read_address
from crawling.web.expressions import BadExpression, read_expression


class BlocklistKind(StrEnum):
    HOST = "host"
    DOMAIN = "domain"
    PREFIX = "prefix"
    REGEX = "regex"


class BlocklistMatch(NamedTuple):
    number: int
    kind: BlocklistKind
    text: str
    reason: str

    @property
    def sentence(self) -> str:
        return f"entry {self.number} of the blocklist, {self.kind} {self.text}: {self.reason}"


class BadEntry(ValueError):
    """The text is no entry of that kind; the message says why."""


def read_entry(kind: BlocklistKind, text: str) -> str:
    """The text of an entry in the form in which it is stored. Raises BadEntry."""
    text = text.strip()
    try:
        if kind is BlocklistKind.REGEX:
            read_expression(text)
            return text
        if kind is BlocklistKind.PREFIX:
            return read_address(text).url
        address = read_address(
            f"http://{text.removeprefix('.') if kind is BlocklistKind.DOMAIN else text}/"
        )
    except (BadExpression, BadUrl) as error:
        raise BadEntry(str(error)) from error
    if address.target != "/":
        raise BadEntry(f"{text!r} is no {kind}; write its name alone, like example.org")
    return address.host_key if kind is BlocklistKind.HOST else address.hostname


class Blocklist:
    """Finds the entry that covers an address.

    A domain covers all names below it. A host is a name, with its port unless that is the usual
    one.
    """

    def __init__(self, entries: Iterable[BlocklistMatch] = ()) -> None:
        self._hosts: dict[str, BlocklistMatch] = {}
        self._domains: dict[str, BlocklistMatch] = {}
        self._prefixes: dict[str, list[BlocklistMatch]] = {}
        self._expressions: list[BlocklistMatch] = []
        self._has_entries = False
        for entry in entries:
            self._has_entries = True
            if entry.kind is BlocklistKind.HOST:
                self._hosts.setdefault(entry.text, entry)
            elif entry.kind is BlocklistKind.DOMAIN:
                self._domains.setdefault(entry.text, entry)
            elif entry.kind is BlocklistKind.PREFIX:
                self._prefixes.setdefault(read_address(entry.text).origin, []).append(entry)
            else:
                self._expressions.append(entry)

    def find(self, address: Address) -> BlocklistMatch | None:
        """The first entry that covers an address. Hosts come first, then domains, prefixes and
        expressions.
        """
        return next(self._entries_for(address), None) if self._has_entries else None

    def _entries_for(self, address: Address) -> Iterator[BlocklistMatch]:
        if entry := self._hosts.get(address.host_key):
            yield entry
        if self._domains:
            name = address.hostname
            while name:
                if entry := self._domains.get(name):
                    yield entry
                name = name.partition(".")[2]
        if self._prefixes:
            yield from (
                entry
                for entry in self._prefixes.get(address.origin, ())
                if address.url.startswith(entry.text)
            )
        yield from (
            entry for entry in self._expressions if read_expression(entry.text).search(address.url)
        )
