"""The answers of the scripted name server, by the first label of the name asked for.

| first label | answer |
|---|---|
| `slow-N` | after N milliseconds |
| `nx` `nxnosoa` `nxbig` | no such name, with a SOA of 30 s, without, with one of two days |
| `nodata` `nodatanosoa` | the name is there, no address is |
| `sf` `refused` `to` `drop1` | SERVFAIL; REFUSED; silence; silence to each type's first packet |
| `tc` `many` | truncated over UDP: one address, 200 addresses over TCP |
| `tcsix` | silence to a query for AAAA; A is truncated over UDP, and 50 ms away over TCP |
| `tcdead` | truncated over UDP; over TCP the connection is closed without a word |
| `wrongid` `garbage` | at once a packet with another id, or of nonsense; then the answer |
| `wrongq` | at once a packet with another question (naming `FORGED`); then the answer |
| `flood-N` | at once N packets with other ids; then the answer |
| `endless` | packets with other ids without end, and nothing over TCP |
| `drown-N` | at once N packets with other ids, and no answer but over TCP |
| `spelt` | at once a forged answer that is right but for the case of the letters; then the answer |
| `fold` `foldudp` | the answer, its question in small letters; over UDP so, and nothing over TCP |
| `noedns` `header` | FORMERR to a question with EDNS, whole or a header alone; else the answer |
| `lame` | no answer, but the names of other servers |
| `poison` | with an address for `victim.test` that nobody asked for |
| `chain-N` `split-N` | N aliases in one answer; one alias an answer |
| `loop` `dangling` | aliases in a circle; an alias of nothing |
| `ttl-N` | with this TTL, up to 2**32 - 1 |
| `v6` `dual` `mapped` | AAAA only; A and AAAA; AAAA `::ffff:127.0.0.1` |
| `private-10-0-0-1` `mixed` | that address; a public and a loopback one |
| `rebind` | a public address at first, 127.0.0.1 ever after |
| anything else | A `PLAIN`, TTL 300 |
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from itertools import repeat

import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

PLAIN, PUBLIC, PLAIN_V6 = "192.0.2.1", "93.184.216.34", "2001:db8::1"
FORGED = "198.51.100.66"
A, AAAA = dns.rdatatype.A, dns.rdatatype.AAAA


def add(
    response: dns.message.Message,
    name: str,
    rdtype: dns.rdatatype.RdataType,
    addresses: list[str],
    ttl: int = 300,
) -> None:
    """Answer with those of the addresses that have the requested type; with none of them,
    NODATA.
    """
    wanted = [address for address in addresses if (":" in address) == (rdtype == AAAA)]
    if wanted and rdtype in (A, AAAA):
        response.answer.append(dns.rrset.from_text_list(f"{name}.", ttl, "IN", rdtype, wanted))
    else:
        soa(response)


def soa(response: dns.message.Message, ttl: int = 30) -> None:
    zone = response.question[0].name.parent()
    response.authority.append(
        dns.rrset.from_text(zone, ttl, "IN", "SOA", f". . 1 3600 600 86400 {ttl * 2}")
    )


def alias(response: dns.message.Message, name: str, target: str, ttl: int = 300) -> None:
    response.answer.append(dns.rrset.from_text(f"{name}.", ttl, "IN", "CNAME", f"{target}."))


def plain(
    response: dns.message.Message, name: str, rdtype: dns.rdatatype.RdataType, argument: str
) -> None:
    add(response, name, rdtype, [PLAIN])


def no_such_name(response: dns.message.Message, soa_ttl: int | None) -> None:
    response.set_rcode(dns.rcode.NXDOMAIN)
    if soa_ttl is not None:
        soa(response, soa_ttl)


def chain(
    response: dns.message.Message, name: str, rdtype: dns.rdatatype.RdataType, argument: str
) -> None:
    """`chain-3.z` → `chain-2.z` → `chain-1.z` → `chain-0.z`; the last alias has the shortest TTL,
    60 s.
    """
    zone = name.partition(".")[2]
    for n in range(int(argument), 0, -1):
        alias(response, f"chain-{n}.{zone}", f"chain-{n - 1}.{zone}", 60 if n == 1 else 300)
    add(response, f"chain-0.{zone}", rdtype, [PLAIN])


def split(
    response: dns.message.Message, name: str, rdtype: dns.rdatatype.RdataType, argument: str
) -> None:
    zone, n = name.partition(".")[2], int(argument)
    if n:
        alias(response, name, f"split-{n - 1}.{zone}", 60 if n == 1 else 300)
    else:
        add(response, name, rdtype, [PLAIN])


def dangling(
    response: dns.message.Message, name: str, rdtype: dns.rdatatype.RdataType, argument: str
) -> None:
    alias(response, name, f"nothing.{name}")
    no_such_name(response, 30)


def poison(
    response: dns.message.Message, name: str, rdtype: dns.rdatatype.RdataType, argument: str
) -> None:
    add(response, name, rdtype, [PLAIN])
    response.answer.append(dns.rrset.from_text("victim.test.", 300, "IN", "A", FORGED))


def lame(response: dns.message.Message, name: str, *_: object) -> None:
    response.authority.append(dns.rrset.from_text(f"{name}.", 300, "IN", "NS", "ns1.other.test."))


def forged(wire: bytes) -> Iterable[bytes]:
    """Return what a forger would send, for a query of one of those scenarios."""
    query = dns.message.from_wire(wire)
    name = query.question[0].name.to_text(omit_final_dot=True).lower()
    scenario, _, argument = name.partition(".")[0].partition("-")
    if scenario == "garbage":
        return [b"\x00\x01 nonsense", wire[:2] + b"\xff" * 40]
    if scenario not in ("wrongid", "wrongq", "flood", "drown", "endless", "spelt"):
        return []
    asked = query
    if scenario == "wrongq":
        asked = dns.message.make_query("other.test.", query.question[0].rdtype, id=query.id)
    response = dns.message.make_response(asked)
    add(response, name, query.question[0].rdtype, [FORGED])
    packet = bytearray(response.to_wire())
    if scenario == "spelt":
        return [in_small_letters(bytes(packet))]
    if scenario != "wrongq":
        packet[0] ^= 0xFF
    return repeat(bytes(packet)) if scenario == "endless" else [bytes(packet)] * int(argument or 1)


def _with_addresses(*addresses: str) -> Scenario:
    return lambda response, name, rdtype, argument: add(response, name, rdtype, list(addresses))


Scenario = Callable[[dns.message.Message, str, dns.rdatatype.RdataType, str], None]
SCENARIOS: dict[str, Scenario] = {
    "nx": lambda response, *_: no_such_name(response, 30),
    "nxnosoa": lambda response, *_: no_such_name(response, None),
    "nxbig": lambda response, *_: no_such_name(response, 2 * 86400),
    "nodata": lambda response, *_: soa(response),
    "nodatanosoa": lambda *_: None,
    "sf": lambda response, *_: response.set_rcode(dns.rcode.SERVFAIL),
    "refused": lambda response, *_: response.set_rcode(dns.rcode.REFUSED),
    "many": lambda response, name, rdtype, _: add(
        response, name, rdtype, [f"192.0.2.{n}" for n in range(200)]
    ),
    "poison": poison,
    "lame": lame,
    "chain": chain,
    "split": split,
    "loop": lambda response, name, *_: alias(response, name, name),
    "dangling": dangling,
    "v6": _with_addresses(PLAIN_V6),
    "dual": _with_addresses(PLAIN, PLAIN_V6),
    "mapped": _with_addresses("::ffff:127.0.0.1"),
    "mixed": _with_addresses("127.0.0.1", PUBLIC),
    "private": lambda response, name, rdtype, argument: add(
        response, name, rdtype, [argument.replace("-", ".")]
    ),
}


def as_sent(response: dns.message.Message, name: str) -> bytes:
    """The packet, with changes that dnspython never writes: a TTL above 2**31 - 1, other
    letters.
    """
    wire = response.to_wire(max_size=65535)
    scenario, _, argument = name.partition(".")[0].partition("-")
    if scenario == "ttl":
        return wire.replace(struct.pack("!IH", 300, 4), struct.pack("!IH", int(argument), 4))
    if scenario == "header" and response.rcode() == dns.rcode.FORMERR:
        return wire[:4] + bytes(8)
    return in_small_letters(wire) if scenario in ("fold", "foldudp") else wire


def in_small_letters(wire: bytes) -> bytes:
    end = wire.index(0, 12)
    return wire[:12] + wire[12:end].lower() + wire[end:]
