"""One question to DNS, a name and a type, on its way to an outcome; decides what a response means and does no I/O."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

import dns.exception
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype

from dnscache.answers import LONGEST_NEGATIVE_SECONDS, LONGEST_TTL_SECONDS, NEGATIVE_WITHOUT_SOA_SECONDS, Reply, Status

MOST_ADDRESSES = 16
#: aliases followed by asking again, when a server names the alias but not what it stands for
MOST_HOPS = 8


class Step(Enum):
    """How far the last try brought the question."""

    SILENT = auto()
    FAILED = auto()
    ALIAS = auto()
    SETTLED = auto()


@dataclass
class Question:
    """`target` is the name to ask for now: at first the name itself, later what it is an alias of."""

    target: dns.name.Name
    rdtype: dns.rdatatype.RdataType
    step: Step = Step.SILENT
    reply: Reply = field(default_factory=lambda: Reply(Status.TIMEOUT, error="no name server answered in time"))
    _ttl: int = LONGEST_TTL_SECONDS
    _hops: int = 0

    def take(self, response: dns.message.QueryMessage, upstream: str) -> None:
        """Read the response of the server `upstream`: settled, failed, or an alias to ask for next."""
        rcode = response.rcode()
        if rcode not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            return self.fail(f"the name server said {dns.rcode.to_text(rcode)}", upstream, rcode)
        try:
            chain = response.resolve_chaining()
        except dns.exception.DNSException as error:
            return self.fail(f"the answer makes no sense: {error}", upstream, rcode)
        self.target = chain.canonical_name
        self._ttl = min([self._ttl, *(alias.ttl for alias in chain.cnames)])
        has_soa = any(rrset.rdtype == dns.rdatatype.SOA for rrset in response.authority)
        if chain.answer is not None:
            addresses = tuple(record.address for record in list(chain.answer)[:MOST_ADDRESSES])
            self._settle(Status.OK, chain.minimum_ttl, upstream, rcode, addresses)
        elif rcode == dns.rcode.NXDOMAIN or has_soa or not chain.cnames:
            status = Status.NXDOMAIN if rcode == dns.rcode.NXDOMAIN else Status.NODATA
            ttl = min(chain.minimum_ttl, LONGEST_NEGATIVE_SECONDS) if has_soa else NEGATIVE_WITHOUT_SOA_SECONDS
            self._settle(status, ttl, upstream, rcode)
        else:
            self._follow(upstream, rcode)

    def fail(self, error: str, upstream: str, rcode: int | None = None) -> None:
        """Note that this server is of no help; another may be."""
        self.step = Step.FAILED
        self.reply = Reply(Status.SERVFAIL, rcode=rcode, upstream=upstream, error=error)

    def _follow(self, upstream: str, rcode: int) -> None:
        self._hops += 1
        if self._hops > MOST_HOPS:
            self.fail(f"more than {MOST_HOPS} aliases one after the other", upstream, rcode)
        else:
            self.step = Step.ALIAS

    def _settle(self, status: Status, ttl: int, upstream: str, rcode: int, addresses: tuple[str, ...] = ()) -> None:
        canonical = self.target.to_text(omit_final_dot=True)
        self.step = Step.SETTLED
        self.reply = Reply(status, addresses, canonical, rcode, min(ttl, self._ttl), upstream=upstream)


def merged(questions: list[Question]) -> Reply:
    """Return one reply for all types: addresses if anybody has them, in the order of the questions.

    Without any, one failure makes the whole unknown: the type that failed may have had addresses.
    """
    replies = [question.reply for question in questions]
    found = [reply for reply in replies if reply.addresses]
    if found:
        addresses = tuple(address for reply in found for address in reply.addresses)
        first = min(found, key=lambda reply: reply.ttl)
        return Reply(Status.OK, addresses, found[0].canonical, first.rcode, first.ttl, upstream=first.upstream)
    order = [Status.NXDOMAIN, Status.SERVFAIL, Status.TIMEOUT, Status.NODATA]
    return min(replies, key=lambda reply: (order.index(reply.status), reply.ttl))
