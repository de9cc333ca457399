"""Lets links into the frontier, or keeps them out, by what is known of their patterns."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from crawling.scope.trap_patterns import (
    MOST_SESSIONS,
    Pattern,
    pattern_of,
    suspicion,
    wider_patterns,
    without_session,
)
from crawling.web.addresses import Address

#: addresses without their sessions' ids, remembered by a shift
MOST_BARE = 50_000


class TrapState(StrEnum):
    """What is known of a pattern: its pages are counted; they yield too little; what an operator
    said.
    """

    WATCHED = "watched"
    QUARANTINED = "quarantined"
    APPROVED = "approved"
    BANNED = "banned"


class PatternRuling(NamedTuple):
    """A link's pattern, and what becomes of the link."""

    #: under which its page is counted
    pattern: Pattern | None = None
    #: the pattern that it is quarantined for
    trap: Pattern | None = None
    is_banned: bool = False


NOTHING = PatternRuling()


@dataclass
class TrapGate:
    """Shared by a shift's fetch threads."""

    #: renewed by the shift alone
    year: int = 2026
    #: by a pattern's key; renewed by the shift alone
    states: Mapping[int, TrapState] = field(default_factory=dict)
    _bare: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def judge(self, link: Address) -> PatternRuling:
        """Look at a link that was not seen before."""
        pattern = pattern_of(link)
        suspicious = suspicion(link, year=self.year) or (
            self._repeated_session(link) if pattern else None
        )
        if not pattern and not suspicious:
            return NOTHING
        counted = suspicious or pattern
        for known in (pattern, suspicious):
            state = self.states.get(known.key) if known else None
            if state is TrapState.BANNED:
                return PatternRuling(counted, is_banned=True)
            if state is TrapState.APPROVED:
                return PatternRuling(counted)
            if state is TrapState.QUARANTINED:
                return PatternRuling(counted, known)
        if self.states:
            held = (one for one in wider_patterns(link) if self._is_held(one))
            return PatternRuling(counted, next(held, None))
        return PatternRuling(counted)

    def _is_held(self, pattern: Pattern) -> bool:
        return self.states.get(pattern.key) is TrapState.QUARANTINED

    def _repeated_session(self, link: Address) -> Pattern | None:
        bare = without_session(link)
        if bare is None:
            return None
        url, pattern = bare
        with self._lock:
            count = self._bare.pop(url, 0) + 1
            self._bare[url] = count
            if len(self._bare) > MOST_BARE:
                del self._bare[next(iter(self._bare))]
        return pattern if count > MOST_SESSIONS else None
