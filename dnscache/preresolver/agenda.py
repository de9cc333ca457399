"""Due hosts, their spellings, and which of them were reported. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from dnscache.protocol.names import DnsCacheError, read_host
from dnscache.resolution import Resolution, literal, refused


class Agenda:
    """The names needed now, read again each turn.

    `dues` has each name to look up, with its earliest due time.
    """

    def __init__(self) -> None:
        self.dues: dict[str, float] = {}
        self._spellings: dict[str, list[str]] = {}
        self._hosts: dict[str, float] = {}
        self._told: dict[str, float] = {}

    def read(self, candidates: Iterable[tuple[str, float]]) -> dict[str, Resolution]:
        """Take the candidates, (host, due), as those needed now; return those that need no
        lookup.
        """
        self.dues, self._spellings, self._hosts = {}, {}, dict(candidates)
        found: dict[str, Resolution] = {}
        for host, due in self._hosts.items():
            try:
                read = read_host(host)
            except DnsCacheError as error:
                found[host] = refused(host, str(error))
                continue
            if read.is_literal:
                found[host] = literal(read.text)
            else:
                self.dues[read.text] = min(due, self.dues.get(read.text, due))
                self._spellings.setdefault(read.text, []).append(host)
        self._told = {host: due for host, due in self._told.items() if self._hosts.get(host) == due}
        return found

    def under_all_spellings(self, found: Resolution) -> dict[str, Resolution]:
        """Return the resolution of a name for each host that is due and spells it."""
        return dict.fromkeys(self._spellings.get(found.name, []), found)

    def news(self, found: dict[str, Resolution]) -> dict[str, Resolution]:
        """Return those that were not reported for their due time yet."""
        return {host: one for host, one in found.items() if host not in self._told}

    def note(self, found: dict[str, Resolution]) -> None:
        """Remember that these were reported."""
        self._told.update((host, self._hosts[host]) for host in found)
