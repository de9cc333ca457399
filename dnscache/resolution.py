"""The resolution of a host, as callers get it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dnscache.protocol.answers import LONGEST_TTL_SECONDS, MOST_TRIES, DnsStatus
from dnscache.regions.entry import CachedAnswer


class AnswerSource(StrEnum):
    """The source of an answer. LITERAL means the text itself: an address or a refused name."""

    LITERAL = "literal"
    MEMORY = "memory"
    DATABASE = "database"
    LOOKUP = "lookup"


@dataclass(frozen=True, slots=True)
class Resolution:
    """An answer in its present state; all times in seconds."""

    name: str
    status: DnsStatus
    addresses: tuple[str, ...]
    #: the rest of the answer's TTL, or of the back-off after a failure, in seconds
    ttl: float
    #: the seconds since the name was resolved
    age: float
    source: AnswerSource
    #: the seconds that the caller waited
    waited: float
    error: str = ""
    #: the number of look-ups in a row that failed; 0 with `DnsStatus.TIMEOUT`: the deadline passed
    #: before a server was asked
    tries: int = 0
    #: whether the addresses are past their TTL while no server answers (RFC 8767); otherwise no
    #: expired address is returned
    stale: bool = False

    @property
    def given_up(self) -> bool:
        """Whether the name has failed as often as it may (SEEDS B9)."""
        return self.tries >= MOST_TRIES


def literal_resolution(address: str) -> Resolution:
    """The resolution of an address, which is its own answer."""
    return Resolution(
        address, DnsStatus.OK, (address,), LONGEST_TTL_SECONDS, 0, AnswerSource.LITERAL, 0
    )


def refused_resolution(host: str, reason: str) -> Resolution:
    """The resolution of a name that is never looked up."""
    return Resolution(host, DnsStatus.REFUSED_NAME, (), 0, 0, AnswerSource.LITERAL, 0, reason)


def unanswered_resolution(name: str, waited: float) -> Resolution:
    """The resolution of a name without an answer in the time that the caller had."""
    error = "the deadline passed before a name server had the time to answer"
    return Resolution(name, DnsStatus.TIMEOUT, (), 0, 0, AnswerSource.LOOKUP, waited, error)


def resolution_of(
    entry: CachedAnswer,
    source: AnswerSource,
    *,
    now: float,
    waited: float,
    turn: int = 0,
    just_asked: bool = False,
) -> Resolution:
    """The entry's present resolution. turn: rotates its addresses, with IPv4 before IPv6.

    An answer that was `just_asked` for is good for this use even if it must not be kept (TTL 0).
    """
    left, age = max(0.0, entry.fresh_until - now), max(0.0, now - entry.resolved_at)
    stale = bool(entry.addresses) and left == 0 and not (just_asked and not entry.fails)
    addresses = _rotate_addresses(entry.addresses, turn)
    return Resolution(
        entry.name,
        entry.status,
        addresses,
        left,
        age,
        source,
        waited,
        entry.error,
        entry.fails,
        stale,
    )


def _rotate_addresses(addresses: tuple[str, ...], turn: int) -> tuple[str, ...]:
    if len(addresses) < 2:
        return addresses
    families = ([a for a in addresses if ":" not in a], [a for a in addresses if ":" in a])
    return tuple(
        family[(n + turn) % len(family)] for family in families for n in range(len(family))
    )
