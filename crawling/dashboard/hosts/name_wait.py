"""Explain the DNS wait of a host."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from crawling.frontier.waiting_names import MOST, due_names, is_gate_enabled
from crawling.models import HostQueue
from crawling.models.jobs import WORKING_STATES
from crawling.web.addresses import dns_name
from dnscache.models import DnsEntry
from dnscache.preresolver.gate import settled_answers
from dnscache.preresolver.preresolver import live_pre_resolvers
from dnscache.protocol.answers import MOST_TRIES
from dnscache.resolution import Resolution
from dnscache.selectors import pinned_names


@dataclass
class NameWaitReason:
    host: str
    name: str
    entry: DnsEntry | None
    #: all sentences that are true of the name; the first is the answer
    sentences: list[str] = field(default_factory=list)
    queues: list[HostQueue] = field(default_factory=list)
    is_pinned: bool = False

    @property
    def rests(self) -> bool:
        """Whether the name is not looked up now because an earlier look-up failed."""
        return bool(
            self.entry and self.entry.retry_at and self.entry.retry_at.timestamp() > time.time()
        )


def why_waits(host: str) -> NameWaitReason:
    name = dns_name(host)
    wait = NameWaitReason(host, name, DnsEntry.objects.filter(name=name).first() if name else None)
    # hosts with the same name have different ports
    which = {"host__dns_name": name} if name else {"host__name": host}
    wait.queues = list(
        HostQueue.objects.filter(
            **which, queued__gt=0, run__state__in=WORKING_STATES
        ).select_related("run__crawl", "host__shift")
    )
    wait.is_pinned = bool(name) and name in pinned_names([name])
    wait.sentences = _sentences(wait)
    return wait


def _sentences(wait: NameWaitReason) -> list[str]:
    entry, name = wait.entry, wait.name
    if not name:
        return [
            "No DNS look-up is needed: the host is an address, no host name at all, or a name "
            "without an owner."
        ]
    if not is_gate_enabled():
        return [
            "There is no gate (DNS_AHEAD): the crawl that fetches from the host resolves its "
            "name, unless it is stored."
        ]
    if not live_pre_resolvers().exists():
        return [
            "The gate is open, because no pre-resolver runs; the crawl that fetches from the "
            "host resolves its name."
        ]
    if found := settled_answers([name]).get(name):
        return [_passage_in_words(found)]
    if entry is None:
        return ["Its name has not been looked up yet.", *_queue_place(name)]
    if wait.rests and entry.retry_at:
        left = MOST_TRIES - entry.fails
        return [
            f"Its next look-up waits after {entry.fails} look-up{'s' * (entry.fails != 1)} in a "
            f"row "
            f"that failed ({entry.error or entry.status}).",
            f"The next look-up is at {entry.retry_at:%H:%M:%S} UTC; the name is given up after "
            f"{left} more.",
        ]
    return ["The stored answer has expired, and a new look-up is under way.", *_queue_place(name)]


def _passage_in_words(found: Resolution) -> str:
    if found.given_up and not found.addresses:
        return (
            f"Its name is given up: {found.tries} look-ups in a row failed. It passes the gate, "
            f"and its host's queue waits."
        )
    if not found.addresses:
        return (
            f"Its name has no address ({DnsEntry.Status(found.status).label}): "
            "it passes the gate, and its URLs fail."
        )
    if found.stale:
        return (
            "Its addresses have expired, but no name server answers: it passes the gate with the "
            "expired addresses."
        )
    return "Its name is resolved: it passes the gate, and does not wait for DNS."


def _queue_place(name: str) -> list[str]:
    due = [other.name for other in due_names(time.time() + 10)]
    if name not in due:
        return [f"It is not among the first {MOST:,} names that are due within ten seconds."]
    before = due.index(name)
    return [
        f"{f'{before:,}' if before else 'No'} name{'s' * (before != 1)} "
        f"come{'s' * (before == 1)} before it in the lanes."
    ]
