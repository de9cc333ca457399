"""What DNS said about a name, for how long that holds, and when to ask a failing name again. Pure: the caller passes `now`.

Times are seconds since 1970. Sources: RFC 1035 and 2181 (TTL), RFC 2308 (negative answers), RFC 9520 (failures).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

LONGEST_TTL_SECONDS = 86400
LONGEST_NEGATIVE_SECONDS = 3600
NEGATIVE_WITHOUT_SOA_SECONDS = 60
FIRST_BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS = 5, 300
#: After so many look-ups in a row without an answer a name is given up (SEEDS B9) and rests for the longest back-off.
MOST_TRIES = 5


class Status(StrEnum):
    OK = "ok"
    NXDOMAIN = "nxdomain"
    NODATA = "nodata"
    SERVFAIL = "servfail"
    TIMEOUT = "timeout"
    REFUSED_NAME = "refused_name"

    @property
    def is_failure(self) -> bool:
        """Whether nobody knows: asking again may help, after the back-off. The other answers hold for their TTL."""
        return self in (Status.SERVFAIL, Status.TIMEOUT)


@dataclass(frozen=True, slots=True)
class Reply:
    """The outcome of one look-up: all that the name servers told, or why they told nothing (`error`)."""

    status: Status
    addresses: tuple[str, ...] = ()
    canonical: str = ""
    rcode: int | None = None
    ttl: int = 0
    resolve_ms: int = 0
    upstream: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with its life: it may be served before `expires_at`, or `retry_at` after a failure.

    `fails` counts the look-ups in a row that failed.
    """

    name: str
    reply: Reply
    resolved_at: float
    expires_at: float
    retry_at: float | None = None
    fails: int = 0

    def is_fresh(self, now: float) -> bool:
        """Whether the answer may still be served."""
        return now < self.fresh_until

    @property
    def fresh_until(self) -> float:
        return self.expires_at if self.retry_at is None else self.retry_at


def answer_from(name: str, reply: Reply, *, previous: Answer | None, now: float) -> Answer:
    """Return the reply as an answer that begins now; `previous` is what was known, for counting failures."""
    if not reply.status.is_failure:
        return Answer(name, reply, resolved_at=now, expires_at=now + reply.ttl)
    fails = 1 + (previous.fails if previous and _same_series(previous, now) else 0)
    return Answer(name, reply, resolved_at=now, expires_at=now, retry_at=now + backoff_seconds(fails), fails=fails)


def backoff_seconds(fails: int) -> int:
    """Return the rest after the n-th failure in a row: 5, 10, 20, 40, then 300 s."""
    return LONGEST_BACKOFF_SECONDS if fails >= MOST_TRIES else FIRST_BACKOFF_SECONDS * 2 ** (fails - 1)


def _same_series(previous: Answer, now: float) -> bool:
    """Yesterday's failures say nothing about today: a name that nobody asked for a while begins with all its tries."""
    return previous.retry_at is not None and now < previous.retry_at + LONGEST_BACKOFF_SECONDS
