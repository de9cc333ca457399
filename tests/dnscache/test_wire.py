import struct

import dns.exception
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
    """What dnspython makes of a packet; None if it waits for a better one, or follows nothing."""
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
    packet = wire.query(name, rdtype, with_edns=with_edns)
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
    packets = [wire.query("www.example.org", dns.rdatatype.A) for _ in range(100)]

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
    asked = wire.query("www.a.test", rdtype)
    response = dns.message.make_response(dns.message.from_wire(asked), recursion_available=True)
    response.set_rcode(rcode)
    for section, told in ((response.answer, answers), (response.authority, authority)):
        for owner, ttl, (kind, value) in told:
            section.append(dns.rrset.from_text(owner, ttl, "IN", kind, value))
    if not has_edns:
        response.use_edns(False)
    packet = response.to_wire() if is_compressed else _uncompressed(response)

    assert wire.read(packet, asked) in (None, by_dnspython(packet, asked))


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
    asked = wire.query("www.a.test", rdtype)
    answer = bytearray(NameServer().handle(asked, "udp"))
    answer[place : place + len(noise)] = noise
    packet = bytes(answer)

    if wire.match(packet, asked) is not wire.PacketMatch.NONE:
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
    asked = wire.query(f"{scenario}.test", rdtype)
    packet = bytearray(NameServer().handle(asked, "tcp"))
    for _ in range(data.draw(st.integers(1, 3))):
        packet[data.draw(st.integers(0, len(packet) - 1))] = data.draw(st.integers(0, 255))
    packet = bytes(packet[: data.draw(st.just(len(packet)) | st.integers(0, len(packet)))])

    assert wire.read(packet, asked) in (None, by_dnspython(packet, asked))


@pytest.mark.parametrize("ahead", [0, 2, 200])
def test_a_pointer_that_leads_not_backwards_is_not_followed(ahead):
    asked = wire.query("plain.test", dns.rdatatype.A)
    packet = bytearray(NameServer().handle(asked, "udp"))
    owner = len(asked) - 11  # of the first answer, in two bytes
    packet[owner : owner + 2] = struct.pack("!H", 0xC000 | (owner + ahead))

    assert wire.read(bytes(packet), asked) is None


@pytest.mark.parametrize("rdtype", TYPES.values())
@pytest.mark.parametrize(
    "scenario",
    ["plain", "chain-3", "nx", "nxnosoa", "dual", "v6", "mapped", "dangling", "nodata", "mixed"],
)
def test_what_servers_usually_say_needs_no_dnspython(scenario, rdtype):
    asked = wire.query(f"{scenario}.a.test", rdtype)

    assert wire.read(NameServer().handle(asked, "udp"), asked) is not None


@pytest.mark.parametrize("scenario", ["sf", "refused", "tc", "loop", "ttl-4294967295"])
def test_what_is_unusual_is_left_to_dnspython(scenario):
    asked = wire.query(f"{scenario}.test", dns.rdatatype.A)

    assert wire.read(NameServer().handle(asked, "udp"), asked) is None
