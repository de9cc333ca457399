"""Write and read usual DNS packets without dnspython, which takes ten times as long, and find the
answer in a response for the name and type of the query.

Pure, except that a query has random parts.

`read_packet` returns None for an unusual response, which dnspython then reads (decision 26 lists
the unusual ones). It reads all other responses as dnspython does; tests compare the two.
Sources: RFC 1035, 3596 (AAAA), 6891 (EDNS).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum, auto
from secrets import randbits
from socket import AF_INET, AF_INET6, inet_ntop

import dns.message
import dns.rcode
import dns.rdatatype
from dns.rdatatype import RdataType

#: a size that fits every path, so that no answer is lost as fragments (DNS flag day 2020)
UDP_PAYLOAD_BYTES = 1232
A, CNAME, SOA, AAAA, OPT = 1, 5, 6, 28, 41
NXDOMAIN = 3
#: responses with FORMERR, SERVFAIL, NOTIMP and REFUSED may consist of a header alone
WITHOUT_QUESTION = (1, 2, 4, 5)
MOST_ALIASES = 15
#: the most pointers of one name; without a limit each name of a packet could follow thousands
MOST_POINTERS = 16
_OPT = struct.pack("!BHHLH", 0, OPT, UDP_PAYLOAD_BYTES, 0, 0)
_HEADER, _RECORD = struct.Struct("!6H"), struct.Struct("!2HLH")
#: masks of the flags: a response to a standard query that isn't truncated, with its rcode
_KIND, _ANSWER, _NO_SUCH_NAME = 0xFA0F, 0x8000, 0x8000 | NXDOMAIN
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
_SIZES = {A: 4, AAAA: 16}
#: the pointer to the name in the question, with which most records begin
_ASKED = b"\xc0\x0c"
#: a record's owner in lower case, its type and TTL, and the places where its data begins and ends
_Record = tuple[str, int, int, int, int]


@dataclass(frozen=True, slots=True)
class ParsedResponse:
    #: if this is neither NOERROR nor NXDOMAIN, the server gave no answer
    rcode: int
    #: the name at the end of the aliases
    canonical: str
    addresses: tuple[str, ...]
    #: the least TTL of all records used; that of the aliases if neither addresses nor a SOA state
    #: how long the answer is valid
    ttl: int
    #: whether there are aliases
    is_alias: bool
    has_soa: bool
    #: whether the response only names other servers (RFC 2308, section 2.2)
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


class _UnusualPacket(Exception):
    """The packet or a part of it is unusual, so dnspython must read it."""


class PacketMatch(Enum):
    """How well a packet matches a query; FOLDED: except for the case of the name's letters."""

    NONE = auto()
    FOLDED = auto()
    EXACT = auto()


def query_packet(name: str, rdtype: RdataType, *, with_edns: bool = True) -> bytes:
    """Return the packet that asks for a name, which may have dnspython's escapes, with a random id.

    The case of each letter is random, so that a forger must guess it (draft-vixie-dnsext-dns0x20).
    """
    if "\\" in name:
        edns = 0 if with_edns else -1
        asked = dns.message.make_query(name, rdtype, use_edns=edns, payload=UDP_PAYLOAD_BYTES)
        return asked.to_wire()
    spelt = _mix_case(name).encode("ascii")
    labels = b"".join(bytes((len(label),)) + label for label in spelt.split(b"."))
    head = _HEADER.pack(randbits(16), 0x0100, 1, 0, 0, with_edns)
    return head + labels + struct.pack("!BHH", 0, rdtype, 1) + (_OPT if with_edns else b"")


def _mix_case(name: str) -> str:
    chance = randbits(len(name))
    spelt = enumerate(name.lower())
    return "".join(letter.upper() if chance >> n & 1 else letter for n, letter in spelt)


def match_packet(packet: bytes, asked: bytes) -> PacketMatch:
    """Return whether a packet is an answer to the query `asked`, by its id and its question.

    A server that could not read the query may leave the question out.
    """
    end = _question_end(asked)
    if packet[:2] != asked[:2] or len(packet) < 12 or not packet[2] & 0x80:
        return PacketMatch.NONE
    if packet[4:6] == b"\0\0" and packet[3] & 0xF in WITHOUT_QUESTION:
        return PacketMatch.EXACT
    theirs, ours = packet[12:end], asked[12:end]
    if theirs == ours:
        return PacketMatch.EXACT
    return PacketMatch.FOLDED if theirs.lower() == ours.lower() else PacketMatch.NONE


def _question_end(asked: bytes) -> int:
    return len(asked) - (len(_OPT) if asked[11] else 0)


def read_packet(packet: bytes, asked: bytes) -> ParsedResponse | None:
    """Return the packet's answer to the query `asked`; None if it does not answer it, or is unusual
    in any way.
    """
    if match_packet(packet, asked) is not PacketMatch.EXACT:
        return None
    question_end = _question_end(asked)
    _, flags, *counts = _HEADER.unpack_from(packet)
    if flags & _KIND not in (_ANSWER, _NO_SUCH_NAME) or counts[0] != 1:
        return None
    try:
        name, _ = _read_name(packet, 12)
        name = name.lower()
        sections = _read_sections(packet, name, question_end, counts[1:])
        (rdtype,) = struct.unpack_from("!H", packet, question_end - 4)
        return _parsed_response(packet, name, rdtype, flags & 0xF, *sections)
    except (_UnusualPacket, IndexError, struct.error):
        return None


def _parsed_response(
    packet: bytes,
    name: str,
    rdtype: int,
    rcode: int,
    answers: list[_Record],
    authority: list[_Record],
) -> ParsedResponse:
    found = [record for record in answers if record[1] == rdtype]
    aliases = {owner: (ttl, begin) for owner, kind, ttl, begin, _ in answers if kind == CNAME}
    if len(aliases) + len(found) != len(answers) or any(kind != SOA for _, kind, *_ in authority):
        raise _UnusualPacket
    ttls: list[int] = []
    while not (ours := [record for record in found if record[0] == name]) and name in aliases:
        ttl, begin = aliases[name]
        ttls.append(ttl)
        name = _read_name(packet, begin)[0].lower()
        if len(ttls) > MOST_ALIASES:
            raise _UnusualPacket
    soa = None if ours else _soa_of(packet, name, authority)
    if (ours and rcode == NXDOMAIN) or (not ours and authority and not soa):
        raise _UnusualPacket
    family = AF_INET if rdtype == A else AF_INET6
    addresses = dict.fromkeys(inet_ntop(family, packet[begin:end]) for *_, begin, end in ours)
    ttl = min([*ttls, *(record[2] for record in ours), *(soa or ())], default=0)
    return ParsedResponse(rcode, name, tuple(addresses), ttl, bool(ttls), bool(authority))


def _soa_of(packet: bytes, name: str, authority: list[_Record]) -> tuple[int, int] | None:
    """Return the TTL of the SOA record and its minimum TTL, for the innermost zone in the packet
    that has the name.
    """
    zones = {
        owner: (ttl, *struct.unpack_from("!L", packet, end - 4))
        for owner, _, ttl, _, end in authority
    }
    if len(zones) != len(authority):
        raise _UnusualPacket
    while name not in zones and name:
        name = name.partition(".")[2]
    return zones.get(name)


def _read_sections(
    packet: bytes, asked: str, at: int, counts: list[int]
) -> tuple[list[_Record], list[_Record]]:
    """Return the records of answer and authority.

    All of the packet must be valid, with only EDNS as additional data.
    """
    sections: list[list[_Record]] = []
    for count in counts:
        sections.append([])
        for _ in range(count):
            owner, at = (asked, at + 2) if packet[at : at + 2] == _ASKED else _read_name(packet, at)
            rdtype, rdclass, ttl, size = _RECORD.unpack_from(packet, at)
            begin, at = at + _RECORD.size, at + _RECORD.size + size
            if rdtype != OPT:
                _check_record(packet, rdtype, rdclass, ttl, begin, at)
            elif len(sections) < 3 or owner or size or ttl >> 24:
                raise _UnusualPacket
            sections[-1].append((owner.lower(), rdtype, ttl, begin, at))
    answers, authority, additional = sections
    if at != len(packet) or [rdtype for _, rdtype, *_ in additional] not in ([], [OPT]):
        raise _UnusualPacket
    return answers, authority


def _check_record(packet: bytes, rdtype: int, rdclass: int, ttl: int, begin: int, end: int) -> None:
    """Accept records of addresses, aliases and zones that have a valid TTL and data of the right
    length. Raises _UnusualPacket.
    """
    if rdtype == CNAME:
        _, size = _read_name(packet, begin)
    elif rdtype == SOA:
        _, size = _read_name(packet, begin)
        size = _read_name(packet, size)[1] + 20
    else:
        size = begin + _SIZES.get(rdtype, -1)
    if rdclass != 1 or ttl >> 31 or size != end or end > len(packet):
        raise _UnusualPacket


def _read_name(packet: bytes, at: int) -> tuple[str, int]:
    """Return the name at this place, as sent, and the place after it."""
    labels: list[bytes] = []
    end, before, pointers = 0, at, 0
    while length := packet[at]:
        if length >= 0xC0:
            end = end or at + 2
            at = (length & 0x3F) << 8 | packet[at + 1]
            pointers += 1
            # a pointer may only point backwards, so the loop ends
            if at >= before or pointers > MOST_POINTERS:
                raise _UnusualPacket
            before = at
            continue
        label = packet[at + 1 : at + 1 + length]
        if length > 63 or len(label) != length or label.translate(None, _LETTERS):
            raise _UnusualPacket
        labels.append(label)
        at += 1 + length
    text = b".".join(labels).decode("ascii")
    if len(text) > 253:
        raise _UnusualPacket
    return text, end or at + 1
