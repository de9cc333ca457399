"""The answer of DNS for a name, how long it is valid, and when to ask for a failing name again.

Pure: the caller passes `now`.

Times are seconds since 1970. Sources: RFC 1035 and 2181 (TTL), RFC 2308 (negative answers), RFC
8767 (stale answers), RFC 9520 (failures).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

LONGEST_TTL_SECONDS = 86400
LONGEST_NEGATIVE_SECONDS = 3600
#: RFC 2308, section 5: a negative answer without a SOA record should not be cached, since two
#: caches could pass it to each other for ever. This cache has no DNS clients; a few seconds, as in
#: Unbound, keep concurrent callers from repeating the question.
NEGATIVE_WITHOUT_SOA_SECONDS = 5
#: RFC 8767: how long addresses may be served past their TTL while no server answers, and how soon a
#: server is asked again
LONGEST_STALE_SECONDS = 86400
STALE_RECHECK_SECONDS = 30
FIRST_BACKOFF_SECONDS, LONGEST_BACKOFF_SECONDS = 5, 300
#: After this many look-ups in a row without an answer a name is given up (SEEDS B9) and not asked
#: for again until the longest back-off is over.
MOST_TRIES = 5


class DnsStatus(StrEnum):
    OK = "ok"
    NXDOMAIN = "nxdomain"
    NODATA = "nodata"
    SERVFAIL = "servfail"
    TIMEOUT = "timeout"
    REFUSED_NAME = "refused_name"

    @property
    def is_failure(self) -> bool:
        """Whether the look-up failed, so that another one after the back-off may succeed.

        Other answers are valid for their TTL.
        """
        return self in (DnsStatus.SERVFAIL, DnsStatus.TIMEOUT)


@dataclass(frozen=True, slots=True)
class Reply:
    status: DnsStatus
    addresses: tuple[str, ...] = ()
    canonical: str = ""
    rcode: int | None = None
    ttl: int = 0
    resolve_ms: int = 0
    upstream: str = ""
    #: why the name servers gave no answer
    error: str = ""


@dataclass(frozen=True, slots=True)
class DnsAnswer:
    """A reply with the time for which it is valid.

    Addresses are kept when later look-ups fail: the reply stays, and until a look-up succeeds it is
    served as stale.
    """

    name: str
    reply: Reply
    resolved_at: float
    #: the time until which the answer may be served
    expires_at: float
    #: the time until which a name is not looked up again after a failure
    retry_at: float | None = None
    #: the number of look-ups in a row that failed
    fails: int = 0

    def is_fresh(self, now: float) -> bool:
        return now < self.fresh_until

    @property
    def fresh_until(self) -> float:
        return (
            self.retry_at
            if self.reply.status.is_failure and self.retry_at is not None
            else self.expires_at
        )

    def is_usable_stale(self, now: float) -> bool:
        """Whether these addresses may be served stale when no server answers.

        The answer that a name does not exist is never served stale.
        """
        return (
            self.reply.status is DnsStatus.OK
            and self.expires_at <= now < self.expires_at + LONGEST_STALE_SECONDS
        )

    def may_be_served(self, now: float) -> bool:
        """Whether no look-up is needed: the answer is fresh, or stale while the name waits for its
        back-off.
        """
        return self.is_fresh(now) or (
            self.retry_at is not None and now < self.retry_at and self.is_usable_stale(now)
        )


def answer_of_reply(
    name: str, reply: Reply, *, previous: DnsAnswer | None, now: float
) -> DnsAnswer:
    """Return the reply as an answer that begins now; `previous` is the last answer, for counting
    failures.

    After a failure the earlier addresses are kept; they become stale once they expire.
    """
    if not reply.status.is_failure:
        return DnsAnswer(name, reply, resolved_at=now, expires_at=now + reply.ttl)
    fails = 1 + (previous.fails if previous and _is_in_failure_series(previous, now) else 0)
    rest = backoff_seconds(fails)
    if previous and (
        previous.is_usable_stale(now)
        or (previous.reply.status is DnsStatus.OK and previous.is_fresh(now))
    ):
        kept = replace(previous.reply, error=reply.error)
        return replace(
            previous, reply=kept, retry_at=now + min(rest, STALE_RECHECK_SECONDS), fails=fails
        )
    return DnsAnswer(name, reply, resolved_at=now, expires_at=now, retry_at=now + rest, fails=fails)


def backoff_seconds(fails: int) -> int:
    """Return the wait after the n-th failure in a row: 5, 10, 20, 40, then 300 s."""
    return (
        LONGEST_BACKOFF_SECONDS if fails >= MOST_TRIES else FIRST_BACKOFF_SECONDS * 2 ** (fails - 1)
    )


def _is_in_failure_series(previous: DnsAnswer, now: float) -> bool:
    """Whether a failure continues the series of the previous ones. Old failures do not count: a
    name without requests for a while has all its tries again.
    """
    return previous.retry_at is not None and now < previous.retry_at + LONGEST_BACKOFF_SECONDS
