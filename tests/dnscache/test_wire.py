import struct
from pathlib import Path

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rdatatype
import dns.rrset
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dnscache.protocol import wire
from dnscache.protocol.wire import parse_response
from tests.nameserver import NameServer

TYPES = {"A": dns.rdatatype.A, "AAAA": dns.rdatatype.AAAA}
types = st.sampled_from(list(TYPES.values()))
ttls = st.sampled_from([0, 1, 60, 300, 2**31 - 1])
owners = st.sampled_from(
    [
        "www.a.test.",
        "WWW.A.test.",
        "cdn.b.test.",
        "e.cdn.b.test.",
        "a.test.",
        "b.test.",
        "test.",
        ".",
        "x_y.test.",
    ]
)
data = st.one_of(
    st.tuples(st.just("A"), st.ip_addresses(v=4).map(str)),
    st.tuples(
        st.just("AAAA"),
        st.ip_addresses(v=6).map(str)
        | st.sampled_from(["::ffff:1.2.3.4", "::1.2.3.4", "1:0:2::3"]),
    ),
    st.tuples(st.just("CNAME"), owners),
    st.tuples(
        st.just("SOA"), ttls.map(lambda least: f"ns.test. me.test. 1 3600 600 86400 {least}")
    ),
    st.tuples(st.just("NS"), owners),
    st.tuples(st.just("TXT"), st.just('"text"')),
)
records = st.lists(st.tuples(owners, ttls, data), max_size=4)


def by_dnspython(packet, asked):
    """The answer that dnspython reads in a packet; None if it waits for a better one, or follows
    nothing.
    """
    query = dns.message.from_wire(asked)
    try:
        response = dns.message.from_wire(packet)
        return parse_response(response) if query.is_response(response) else None
    except (dns.exception.DNSException, ValueError, struct.error):
        return None


@pytest.mark.parametrize("with_edns", [True, False])
@pytest.mark.parametrize("rdtype", TYPES.values())
@pytest.mark.parametrize(
    "name", ["www.example.org", "a", "x" * 63 + ".test", "_dmarc.a-b.test", r"odd\032one.test"]
)
def test_a_query_is_what_dnspython_would_send_but_for_the_case_of_letters(name, rdtype, with_edns):
    packet = wire.query_packet(name, rdtype, with_edns=with_edns)
    edns = 0 if with_edns else -1
    theirs = dns.message.make_query(
        name,
        rdtype,
        id=int.from_bytes(packet[:2]),
        use_edns=edns,
        payload=wire.UDP_PAYLOAD_BYTES,
    )

    assert packet[12:].lower() == theirs.to_wire()[12:].lower()
    assert packet[:12] == theirs.to_wire()[:12]


def test_no_two_queries_have_ids_or_letters_that_could_be_guessed():
    packets = [wire.query_packet("www.example.org", dns.rdatatype.A) for _ in range(100)]

    assert len({packet[:2] for packet in packets}) > 90
    assert len({packet[12:-4] for packet in packets}) > 90


@given(types, st.sampled_from([0, 0, 0, 2, 3]), records, records, st.booleans(), st.booleans())
@example(
    dns.rdatatype.A,
    0,
    [("www.a.test.", 1, ("CNAME", "cdn.b.test.")), ("cdn.b.test.", 60, ("A", "192.0.2.1"))],
    [],
    True,
    True,
)
def test_what_is_read_is_what_dnspython_reads(
    rdtype, rcode, answers, authority, is_compressed, has_edns
):
    asked = wire.query_packet("www.a.test", rdtype)
    response = dns.message.make_response(dns.message.from_wire(asked), recursion_available=True)
    response.set_rcode(rcode)
    for section, told in ((response.answer, answers), (response.authority, authority)):
        for owner, ttl, (kind, value) in told:
            section.append(dns.rrset.from_text(owner, ttl, "IN", kind, value))
    if not has_edns:
        response.use_edns(False)
    packet = response.to_wire() if is_compressed else _uncompressed(response)

    assert wire.read_packet(packet, asked) in (None, by_dnspython(packet, asked))


def _uncompressed(response):
    sections = [response.answer, response.authority, *([[response.opt]] if response.opt else [])]
    header = struct.pack("!6H", response.id, response.flags, 1, *map(len, ([*sections, []])[:3]))
    question = response.question[0]
    body = question.name.to_wire() + struct.pack("!HH", question.rdtype, 1)
    for rrset in (rrset for section in sections for rrset in section):
        rdata = rrset[0].to_wire()
        body += (
            rrset.name.to_wire()
            + struct.pack(
                "!HHLH", rrset.rdtype, getattr(rrset, "rdclass", 1), rrset.ttl, len(rdata)
            )
            + rdata
        )
    return header + body


@given(types, st.binary(max_size=60), st.integers(0, 59))
def test_what_is_taken_for_an_answer_has_the_id_and_the_question(rdtype, noise, place):
    asked = wire.query_packet("www.a.test", rdtype)
    answer = bytearray(NameServer().handle(asked, "udp"))
    answer[place : place + len(noise)] = noise
    packet = bytes(answer)

    if wire.match_packet(packet, asked) is not wire.PacketMatch.NONE:
        end = len(asked) - 11
        assert packet[:2] == asked[:2]
        assert packet[12:end].lower() == asked[12:end].lower() or packet[4:6] == bytes(2)


@given(
    st.data(),
    types,
    st.sampled_from(
        ["plain", "chain-3", "nx", "dual", "v6", "dangling", "many", "mixed", "nodata"]
    ),
)
def test_a_packet_that_was_tampered_with_is_never_read_otherwise_than_by_dnspython(
    data, rdtype, scenario
):
    asked = wire.query_packet(f"{scenario}.test", rdtype)
    packet = bytearray(NameServer().handle(asked, "tcp"))
    for _ in range(data.draw(st.integers(1, 3))):
        packet[data.draw(st.integers(0, len(packet) - 1))] = data.draw(st.integers(0, 255))
    packet = bytes(packet[: data.draw(st.just(len(packet)) | st.integers(0, len(packet)))])

    assert wire.read_packet(packet, asked) in (None, by_dnspython(packet, asked))


@pytest.mark.parametrize("ahead", [0, 2, 200])
def test_a_pointer_that_leads_not_backwards_is_not_followed(ahead):
    asked = wire.query_packet("plain.test", dns.rdatatype.A)
    packet = bytearray(NameServer().handle(asked, "udp"))
    owner = len(asked) - 11  # of the first answer, in two bytes
    packet[owner : owner + 2] = struct.pack("!H", 0xC000 | (owner + ahead))

    assert wire.read_packet(bytes(packet), asked) is None


@pytest.mark.parametrize("rdtype", TYPES.values())
@pytest.mark.parametrize(
    "scenario",
    ["plain", "chain-3", "nx", "nxnosoa", "dual", "v6", "mapped", "dangling", "nodata", "mixed"],
)
def test_what_servers_usually_say_needs_no_dnspython(scenario, rdtype):
    asked = wire.query_packet(f"{scenario}.a.test", rdtype)

    assert wire.read_packet(NameServer().handle(asked, "udp"), asked) is not None


def answer_to(asked, *records, authority=(), additional=(), **how):
    """A packet in answer, of records (owner, type, TTL, data), as a server would send it."""
    response = dns.message.make_response(dns.message.from_wire(asked), recursion_available=True)
    response.set_rcode(how.get("rcode", 0))
    response.flags |= how.get("flags", 0)
    sections = (response.answer, records), (response.authority, authority)
    for section, told in (*sections, (response.additional, additional)):
        for owner, kind, ttl, value in told:
            section.append(dns.rrset.from_text(owner, ttl, "IN", kind, value))
    if options := how.get("options"):
        response.use_edns(0, options=options)
    return response.to_wire()


NAME = "www.a.test."
GOOD = (NAME, "A", 60, "192.0.2.1")
ASKED = wire.query_packet("www.a.test", dns.rdatatype.A)
ALIASES = [(f"n{n}.a.test.", "CNAME", 60, f"n{n + 1}.a.test.") for n in range(16)]


def patched(packet, at, value):
    return packet[:at] + value + packet[at + len(value) :]


def nested(records):
    """An answer whose last owner is found by 1 + 2 * `records` pointers, which are the addresses of
    the records before it.
    """
    packet = ASKED[:2] + b"\x81\x80\0\1" + bytes((0, records + 1, 0, 0, 0, 0)) + ASKED[12:-11]
    target = 12
    for _ in range(records):
        data = len(packet) + 12
        packet += b"\xc0\x0c\0\1\0\1\0\0\0<\0\4" + struct.pack("!HH", *pointers(target, data))
        target = data + 2
    return packet + struct.pack("!H", *pointers(target)) + b"\0\1\0\1\0\0\0<\0\4\xc0\0\2\1"


def pointers(*places):
    return [0xC000 | place for place in places]


#: what decision 26 lists, each with a packet that is good but for that
LEFT_TO_DNSPYTHON = {
    "truncated": answer_to(ASKED, GOOD, flags=dns.flags.TC),
    "another opcode": patched(answer_to(ASKED, GOOD), 2, b"\x91"),
    "a response code but NOERROR and NXDOMAIN": answer_to(ASKED, rcode=2),
    "two questions": patched(answer_to(ASKED, GOOD), 4, b"\0\2"),
    "no question": patched(answer_to(ASKED, rcode=1)[:12], 4, bytes(8)),
    "another class": answer_to(ASKED, GOOD).replace(b"\0\1\0\1\0\0\0<", b"\0\1\0\3\0\0\0<"),
    "another type in the answer": answer_to(ASKED, GOOD, (NAME, "TXT", 60, "text")),
    "DNAME": answer_to(ASKED, ("a.test.", "DNAME", 60, "b.test."), GOOD),
    "name servers": answer_to(ASKED, GOOD, authority=[("a.test.", "NS", 60, "ns.a.test.")]),
    "two zones of one name": answer_to(
        ASKED, authority=[("a.test.", "SOA", 60, f". . {n} 1 1 1 1") for n in (1, 2)]
    ),
    "a zone that the name is not in": answer_to(
        ASKED, authority=[("b.test.", "SOA", 60, ". . 1 1 1 1 1")]
    ),
    "an additional address": answer_to(
        ASKED, GOOD, additional=[("ns.a.test.", "A", 60, "192.0.2.9")]
    ),
    "EDNS options": answer_to(ASKED, GOOD, options=[dns.edns.GenericOption(10, b"12345678")]),
    "addresses of no such name": answer_to(ASKED, GOOD, rcode=3),
    "more than 15 aliases": answer_to(
        ASKED, (NAME, "CNAME", 60, "n0.a.test."), *ALIASES, ("n16.a.test.", "A", 60, "192.0.2.1")
    ),
    "a TTL beyond 2^31": patched(answer_to(ASKED, GOOD), len(ASKED) - 11 + 6, b"\x80"),
    "an address of the wrong length": patched(
        answer_to(ASKED, GOOD), len(ASKED) - 11 + 10, b"\0\5"
    ),
    "an odd letter in a name": answer_to(
        ASKED, (NAME, "CNAME", 60, r"a\032b.test."), (r"a\032b.test.", "A", 60, "192.0.2.1")
    ),
    "bytes behind the last record": answer_to(ASKED, GOOD) + b"\0",
    "a name of more than 16 pointers": nested(8),
    "a packet that is cut off": answer_to(ASKED, GOOD)[:-1],
}


@pytest.mark.parametrize("what", LEFT_TO_DNSPYTHON)
def test_all_beyond_the_bound_is_left_to_dnspython(what):
    assert wire.read_packet(answer_to(ASKED, GOOD), ASKED).addresses == ("192.0.2.1",)
    assert wire.read_packet(LEFT_TO_DNSPYTHON[what], ASKED) is None


def test_a_name_of_sixteen_pointers_is_read_as_dnspython_reads_it():
    assert wire.read_packet(nested(7), ASKED) == by_dnspython(nested(7), ASKED) is not None


def test_the_record_says_what_is_left_to_dnspython():
    record = Path("docs/figures/0026.md").read_text()
    assert not [what for what in LEFT_TO_DNSPYTHON if f"- {what}" not in record]
