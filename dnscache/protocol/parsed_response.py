"""What a response says of the one name and type that was asked for: aliases followed, all that does
not belong to it left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import dns.message
import dns.rcode
import dns.rdatatype


@dataclass(frozen=True, slots=True)
class ParsedResponse:
    """`canonical` is the name at the end of the aliases, of which there are some if `is_alias`;
    `ttl` the least of all that counts.

    Without addresses and `has_soa` nothing says how long that holds, and `ttl` is that of the
    aliases. With an `rcode` other than NOERROR and NXDOMAIN the server has said nothing at all.
    With `is_referral` it only names other servers (RFC 2308, section 2.2).
    """

    rcode: int
    canonical: str
    addresses: tuple[str, ...]
    ttl: int
    is_alias: bool
    has_soa: bool
    is_referral: bool = False


def parse_response(response: dns.message.QueryMessage) -> ParsedResponse:
    """Read a response by dnspython. Raises dns.exception.DNSException if it makes no sense."""
    if response.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        return ParsedResponse(response.rcode(), "", (), 0, is_alias=False, has_soa=False)
    chain = response.resolve_chaining()
    has_soa = any(rrset.rdtype == dns.rdatatype.SOA for rrset in response.authority)
    addresses = () if chain.answer is None else tuple(record.address for record in chain.answer)
    names_servers = any(rrset.rdtype == dns.rdatatype.NS for rrset in response.authority)
    return ParsedResponse(
        rcode=response.rcode(),
        canonical=chain.canonical_name.to_text(omit_final_dot=True).lower(),
        addresses=addresses,
        ttl=chain.minimum_ttl
        if addresses or has_soa
        else min((alias.ttl for alias in chain.cnames), default=0),
        is_alias=bool(chain.cnames),
        has_soa=has_soa,
        is_referral=names_servers and not (addresses or has_soa or response.rcode()),
    )
