"""A cached answer in memory. It must be small, since a large crawl keeps a million of them.

The weight of an answer (SEEDS D10 leaves the formula open): W = C · λ · λL / (1 + λL), where C is
the seconds that a look-up takes, L the seconds for which an answer is valid and λ the rate at which
the name is requested. The last factor is the hit ratio of an answer that is renewed on demand when
requests are random, so W is the seconds of fetch threads saved per second by keeping the answer;
the sum of W says how many threads the cache saves. W rises with each of the patent's three inputs
and is 0 for an answer that must not be kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import IntEnum
from math import log
from sys import intern
from typing import Optional

from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply

#: after this long without a hit, a name's count of hits has halved
HALF_LIFE_SECONDS = 600.0
_RATE_PER_HIT = log(2) / HALF_LIFE_SECONDS
#: the longest duration of a quick look-up; the patent leaves this threshold open
THRESHOLD_SECONDS = 0.3
#: how far past the threshold the duration must be until a name changes its region, so that it does
#: not keep changing
HYSTERESIS = 0.2
#: the share of the newest look-up in the usual duration
NEWEST_SHARE = 0.3


class TreeNode:
    """A name in the tree.

    A cached answer is its own node; a plain node stands for a name that only has names below it.

    `left` is the first name one level below, `right` the next one on the same level. `before` is
    the node whose `left` or `right` this one is; None for the first node of a registered name,
    which is in table 1.
    """

    __slots__ = ("before", "left", "name", "right")

    def __init__(self, name: str) -> None:
        self.name = name
        # a class can't be named in `|` before it exists
        self.left: Optional[TreeNode] = None  # noqa: UP045
        self.right: Optional[TreeNode] = None  # noqa: UP045
        self.before: Optional[TreeNode] = None  # noqa: UP045

    def attach_left(self, node: TreeNode) -> None:
        """Make `node` the first child."""
        node.right, node.before, self.left = self.left, self, node
        if node.right:
            node.right.before = node

    def attach_right(self, node: TreeNode) -> None:
        """Put `node` beside this one."""
        node.right, node.before, self.right = self.right, self, node
        if node.right:
            node.right.before = node

    def remove_from_tree(self, heir: TreeNode | None = None) -> None:
        """Leave the tree; `heir` takes over all links, or, without one, the nodes to the right move
        up.
        """
        successor = heir or self.right
        if self.before is not None:
            if self.before.left is self:
                self.before.left = successor
            else:
                self.before.right = successor
        if successor is not None:
            successor.before = self.before
        if heir is not None:
            heir.left, heir.right = self.left, self.right
            for below in (heir.left, heir.right):
                if below is not None:
                    below.before = heir
        self.left = self.right = self.before = None


def nodes_of_row(first: TreeNode | None) -> Iterator[TreeNode]:
    """All names of one level under one parent, from `first` to the right."""
    while first is not None:
        yield first
        first = first.right


def decayed_hits(hits: float, idle_seconds: float) -> float:
    """Return the decayed count of hits plus one that comes `idle_seconds` after the last."""
    # idle_seconds may be negative: clocks can be set back
    return 1.0 + (hits * 2.0 ** (-idle_seconds / HALF_LIFE_SECONDS) if idle_seconds > 0 else hits)


def requests_per_second(hits: float, idle_seconds: float) -> float:
    """The hits per second (λ) of a name with that decayed count at its last request."""
    return _RATE_PER_HIT * hits * float(2.0 ** (-max(0.0, idle_seconds) / HALF_LIFE_SECONDS))


def answer_weight(*, cost_seconds: float, life_seconds: float, per_second: float) -> float:
    """The threads saved (W). No argument may be negative."""
    demand = per_second * life_seconds
    return cost_seconds * per_second * demand / (1.0 + demand)


class Region(IntEnum):
    """The region of an answer (SEEDS D3); it depends on how hard the name was to resolve, not on
    its use.
    """

    FORWARD = 1
    REVERSE = 2


class CachedAnswer(TreeNode):
    """One name's answer, its own node in the tree.

    A changed answer gets a new object, since readers take no lock.

    Only `hits` and `last_access` change in place; when several threads hit at once a count may be
    lost, which does no harm.
    """

    __slots__ = (
        "canonical",
        "cost_ms",
        "error",
        "fails",
        "fresh_until",
        "hits",
        "last_access",
        "packed",
        "rcode",
        "region",
        "resolve_ms",
        "resolved_at",
        "retry_at",
        "status",
        "ttl",
        "upstream",
    )

    def __init__(
        self, answer: DnsAnswer, *, now: float, previous: CachedAnswer | None = None
    ) -> None:
        super().__init__(answer.name)
        reply = answer.reply
        self.status, self.rcode, self.ttl, self.resolve_ms = (
            reply.status,
            reply.rcode,
            reply.ttl,
            reply.resolve_ms,
        )
        # one string takes half the memory of a tuple with one string
        self.packed = " ".join(reply.addresses)
        # one object in place of two equal ones
        self.canonical = answer.name if reply.canonical == answer.name else reply.canonical
        self.upstream, self.error = intern(reply.upstream), reply.error
        self.resolved_at, self.retry_at, self.fails = (
            answer.resolved_at,
            answer.retry_at,
            answer.fails,
        )
        self.fresh_until = answer.fresh_until
        # a small integer needs no memory of its own, a float does
        self.cost_ms = reply.resolve_ms
        self.hits, self.last_access = 1.0, now
        if previous is not None:
            # the duration of a failure does not show how quick an answer is
            if previous.status.is_failure == self.status.is_failure:
                self.cost_ms += round((1 - NEWEST_SHARE) * (previous.cost_ms - self.cost_ms))
            self.hits, self.last_access = previous.hits, previous.last_access
            self.count_hit(now)
        self.region = _region_of(self, previous)

    @property
    def answer(self) -> DnsAnswer:
        """The answer from which this entry was made."""
        reply = Reply(
            self.status,
            self.addresses,
            self.canonical,
            self.rcode,
            self.ttl,
            self.resolve_ms,
            self.upstream,
            self.error,
        )
        return DnsAnswer(
            self.name, reply, self.resolved_at, self.expires_at, self.retry_at, self.fails
        )

    @property
    def expires_at(self) -> float:
        """The time when the answer's TTL is over; a failure has none."""
        return self.resolved_at if self.status.is_failure else self.fresh_until

    @property
    def cost_seconds(self) -> float:
        """The seconds that a look-up usually takes."""
        return self.cost_ms / 1000

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(self.packed.split())

    def count_hit(self, now: float) -> None:
        self.hits = decayed_hits(self.hits, now - self.last_access)
        self.last_access = now

    @property
    def life_seconds(self) -> float:
        """The seconds for which the answer is valid from its look-up on: its TTL, or the
        back-off.
        """
        return self.fresh_until - self.resolved_at

    def per_second(self, now: float) -> float:
        return requests_per_second(self.hits, now - self.last_access)

    def weight(self, now: float) -> float:
        """The number of threads that are saved by keeping this answer."""
        return answer_weight(
            cost_seconds=self.cost_seconds,
            life_seconds=self.life_seconds,
            per_second=self.per_second(now),
        )

    def may_be_served(self, now: float) -> bool:
        """Whether no look-up is needed; see `DnsAnswer.may_be_served`."""
        return now < self.fresh_until or (self.fails > 0 and self.answer.may_be_served(now))


def _region_of(entry: CachedAnswer, previous: CachedAnswer | None) -> Region:
    """Forward if the last look-up succeeded and such look-ups are quick; a duration equal to the
    threshold is slow (SEEDS D3).
    """
    if entry.status is not DnsStatus.OK or entry.fails:
        return Region.REVERSE
    limit = THRESHOLD_SECONDS
    if previous is not None and previous.status is DnsStatus.OK and not previous.fails:
        limit *= 1 + HYSTERESIS if previous.region is Region.FORWARD else 1 - HYSTERESIS
    return Region.FORWARD if entry.cost_seconds < limit else Region.REVERSE


#: a character that no field contains, except perhaps the last
SEPARATOR = "\x1f"

_STATUSES = {status.value: status for status in DnsStatus}
_REGIONS = {str(region.value): region for region in Region}


def registered_name_of(packed: str) -> str:
    return packed.partition(SEPARATOR)[0]


def region_of(packed: str) -> Region:
    return _REGIONS[packed.split(SEPARATOR, 13)[12]]


def unpack_row(name: str, packed: str) -> tuple[str, CachedAnswer]:
    """Return the registered name and the entry.

    The fields are in the order in which `store.stored_rows` selects them.
    """
    first, *reply, resolved, expires, retry, used, fails, region, cost, hits, upstream, error = (
        packed.split(SEPARATOR, 16)
    )
    entry = CachedAnswer.__new__(CachedAnswer)  # the constructor makes entries only from answers
    entry.name, entry.left, entry.right, entry.before = name, None, None, None
    _unpack_reply(entry, *reply)
    entry.upstream, entry.error = intern(upstream), error
    entry.resolved_at, entry.retry_at = (
        _epoch_seconds(resolved),
        _epoch_seconds(retry) if retry else None,
    )
    entry.fresh_until = (
        entry.retry_at
        if entry.retry_at is not None and entry.status.is_failure
        else _epoch_seconds(expires)
    )
    entry.fails, entry.region = int(fails), _REGIONS[region]
    entry.cost_ms, entry.hits = round(1000 * float(cost)), float(hits)
    entry.last_access = _epoch_seconds(used)
    return first, entry


def _unpack_reply(
    entry: CachedAnswer,
    status: str,
    addresses: str,
    canonical: str,
    rcode: str,
    ttl: str,
    resolve_ms: str,
) -> None:
    entry.status = _STATUSES[status]
    entry.packed = addresses[1:-1].replace(",", " ")  # {192.0.2.1,2001:db8::1}
    entry.canonical = entry.name if canonical == entry.name else canonical
    entry.rcode = int(rcode) if rcode else None
    entry.ttl, entry.resolve_ms = int(ttl), int(resolve_ms)


def _epoch_seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
