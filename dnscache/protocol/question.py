"""One question to DNS, a name and a type, and its state until it is settled. The module decides
what a response means and does no I/O.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

import dns.rcode
import dns.rdatatype

from dnscache.protocol.answers import (
    LONGEST_NEGATIVE_SECONDS,
    LONGEST_TTL_SECONDS,
    NEGATIVE_WITHOUT_SOA_SECONDS,
    DnsStatus,
    Reply,
)
from dnscache.protocol.wire import ParsedResponse

MOST_ADDRESSES = 16
#: the number of times that an alias may be followed by a further question, when a server answers
#: with an alias only
MOST_HOPS = 8


class QueryStep(Enum):
    SILENT = auto()
    FAILED = auto()
    ALIAS = auto()
    AGAIN = auto()
    SETTLED = auto()


#: answers to EDNS of servers without it (RFC 6891, section 7)
NO_EDNS = (dns.rcode.FORMERR, dns.rcode.NOTIMP)
_SILENCE = Reply(DnsStatus.TIMEOUT, error="no name server answered in time")


@dataclass(slots=True)
class DnsQuery:
    #: the name of the present question: first the name itself, later the name of which it is an
    #: alias
    target: str
    rdtype: dns.rdatatype.RdataType
    step: QueryStep = QueryStep.SILENT
    reply: Reply = _SILENCE
    #: whether to ask with EDNS; False once a server has refused that
    with_edns: bool = True
    _ttl: int = LONGEST_TTL_SECONDS
    _hops: int = 0

    def take(self, heard: ParsedResponse, upstream: str) -> None:
        """Process the answer of the server `upstream`: the question is settled, has failed, or
        needs another question.
        """
        if heard.rcode in NO_EDNS and self.with_edns:
            self.with_edns, self.step = False, QueryStep.AGAIN
            return None
        if heard.rcode not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            return self.fail(
                f"the name server said {dns.rcode.to_text(dns.rcode.Rcode.make(heard.rcode))}",
                upstream,
                heard.rcode,
            )
        if heard.is_referral and not heard.is_alias:
            return self.fail("the name server only named other servers", upstream, heard.rcode)
        self.target = heard.canonical
        if heard.is_alias or heard.addresses or heard.has_soa:
            self._ttl = min(self._ttl, heard.ttl)
        if heard.addresses:
            self._set_reply(
                DnsStatus.OK, self._ttl, upstream, heard.rcode, heard.addresses[:MOST_ADDRESSES]
            )
        elif heard.rcode == dns.rcode.NXDOMAIN or heard.has_soa or not heard.is_alias:
            status = DnsStatus.NXDOMAIN if heard.rcode == dns.rcode.NXDOMAIN else DnsStatus.NODATA
            longest = LONGEST_NEGATIVE_SECONDS if heard.has_soa else NEGATIVE_WITHOUT_SOA_SECONDS
            self._set_reply(status, min(self._ttl, longest), upstream, heard.rcode)
        else:
            self._follow_alias(upstream, heard.rcode)
        return None

    def fail(self, error: str, upstream: str, rcode: int | None = None) -> None:
        """Note that this server could not answer; another may."""
        self.step = QueryStep.FAILED
        self.reply = Reply(DnsStatus.SERVFAIL, rcode=rcode, upstream=upstream, error=error)

    def _follow_alias(self, upstream: str, rcode: int) -> None:
        self._hops += 1
        if self._hops > MOST_HOPS:
            self.fail(f"more than {MOST_HOPS} aliases one after the other", upstream, rcode)
        else:
            self.step = QueryStep.ALIAS

    def _set_reply(
        self,
        status: DnsStatus,
        ttl: int,
        upstream: str,
        rcode: int,
        addresses: tuple[str, ...] = (),
    ) -> None:
        self.step = QueryStep.SETTLED
        self.reply = Reply(status, addresses, self.target, rcode, ttl, upstream=upstream)


def merged_reply(questions: list[DnsQuery], *, resolve_ms: int) -> Reply:
    """One reply for all types. It has the addresses of all questions, in the order of the
    questions.

    Without any address, one failure makes the reply a failure, since the failed type may have had
    addresses.
    """
    replies = [question.reply for question in questions]
    found = [reply for reply in replies if reply.addresses]
    if found:
        addresses = tuple(address for reply in found for address in reply.addresses)
        first = min(found, key=lambda reply: reply.ttl)
        return Reply(
            DnsStatus.OK,
            addresses,
            found[0].canonical,
            first.rcode,
            first.ttl,
            resolve_ms,
            first.upstream,
        )
    order = [DnsStatus.NXDOMAIN, DnsStatus.SERVFAIL, DnsStatus.TIMEOUT, DnsStatus.NODATA]
    return replace(
        min(replies, key=lambda reply: (order.index(reply.status), reply.ttl)),
        resolve_ms=resolve_ms,
    )
