"""Admits links into the frontier, or excludes them, by the known facts about their patterns."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from crawling.machine.eviction import forget_oldest
from crawling.orders.scope.trap_patterns import (
    MOST_SESSIONS,
    Pattern,
    address_without_session_id,
    pattern_of,
    patterns_by_parameter,
    site_pattern,
    suspicious_pattern,
)
from crawling.web.addresses import Address

#: the most addresses without session ids that a shift remembers
MOST_BARE = 50_000


class TrapState(StrEnum):
    """The state of a pattern: its pages are counted, they yield too little, or an operator has
    decided.
    """

    WATCHED = "watched"
    QUARANTINED = "quarantined"
    APPROVED = "approved"
    BANNED = "banned"


class PatternRuling(NamedTuple):
    #: the pattern under which the URL's page is counted
    pattern: Pattern | None = None
    #: the pattern because of which the URL is quarantined
    trap: Pattern | None = None
    is_banned: bool = False


NOTHING = PatternRuling()


@dataclass
class TrapGate:
    """The gate for links. Shared by a shift's fetch threads."""

    #: the current year; only the shift updates it
    year: int = 2026
    #: states by the pattern's key; only the shift updates them
    states: Mapping[int, TrapState] = field(default_factory=dict)
    _bare: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def judge(self, link: Address) -> PatternRuling:
        """Judge a link that was not seen before."""
        pattern = pattern_of(link)
        suspicious = suspicious_pattern(link, year=self.year) or (
            self._repeated_session(link) if pattern else None
        )
        counted = suspicious or pattern
        if not self.states:
            return PatternRuling(counted) if counted else NOTHING
        return self._ruling_by_states(link, counted, [one for one in (pattern, suspicious) if one])

    def _ruling_by_states(
        self, link: Address, counted: Pattern | None, own: list[Pattern]
    ) -> PatternRuling:
        """The ruling by the states of the link's patterns. Its own pattern precedes those of its
        parameters and its site.
        """
        for known in own:
            state = self.states.get(known.key)
            if state is TrapState.BANNED:
                return PatternRuling(counted, is_banned=True)
            if state is TrapState.APPROVED:
                return PatternRuling(counted)
            if state is TrapState.QUARANTINED:
                return PatternRuling(counted, known)
        wide = [site_pattern(link), *patterns_by_parameter(link)]
        states = {self.states.get(one.key): one for one in reversed(wide)}
        if TrapState.BANNED in states:
            return PatternRuling(counted, is_banned=True)
        if TrapState.APPROVED in states:
            # if a URL's own pattern is approved, its parameters and its site do not count
            return NOTHING
        return PatternRuling(counted, states.get(TrapState.QUARANTINED))

    def _repeated_session(self, link: Address) -> Pattern | None:
        bare = address_without_session_id(link)
        if bare is None:
            return None
        url, pattern = bare
        with self._lock:
            count = self._bare.pop(url, 0) + 1
            self._bare[url] = count
            forget_oldest(self._bare, MOST_BARE)
        return pattern if count > MOST_SESSIONS else None
