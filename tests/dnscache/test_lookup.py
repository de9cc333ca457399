import os
import socket

import pytest

from dnscache import lookup
from dnscache.lookup import configured_servers, query_name
from dnscache.protocol.answers import DnsStatus
from tests.dns_scenarios import PLAIN, PLAIN_V6
from tests.nameserver import serve_names

pytestmark = pytest.mark.slow


@pytest.fixture
def look_up(dns_server):
    return lambda name, seconds=5.0: query_name(
        name, seconds=seconds, servers=(dns_server.address,)
    )


@pytest.mark.parametrize(
    ("name", "addresses", "ttl"),
    [
        ("plain.test", (PLAIN,), 300),
        ("v6.test", (PLAIN_V6,), 300),
        ("dual.test", (PLAIN, PLAIN_V6), 300),
        ("mapped.test", ("::ffff:127.0.0.1",), 300),
        ("private-10-0-0-1.test", ("10.0.0.1",), 300),
        ("tc.test", (PLAIN,), 300),
        ("wrongid.test", (PLAIN,), 300),
        ("wrongq.test", (PLAIN,), 300),
        ("garbage.test", (PLAIN,), 300),
        ("spelt.test", (PLAIN,), 300),
        ("fold.test", (PLAIN,), 300),
        ("foldudp.test", (PLAIN,), 300),
        ("noedns.test", (PLAIN,), 300),
        ("header.test", (PLAIN,), 300),
        ("flood-40.test", (PLAIN,), 300),
        ("flood-10000.test", (PLAIN,), 300),
        ("drown-100.test", (PLAIN,), 300),
        ("poison.test", (PLAIN,), 300),
        ("chain-3.test", (PLAIN,), 60),
        ("split-3.test", (PLAIN,), 60),
        ("ttl-0.test", (PLAIN,), 0),
        ("ttl-7.test", (PLAIN,), 7),
        ("ttl-2147483648.test", (PLAIN,), 0),
        ("ttl-4294967295.test", (PLAIN,), 0),
        ("ttl-2147483647.test", (PLAIN,), 86400),
    ],
)
def test_addresses_come_with_the_time_that_they_hold(look_up, name, addresses, ttl):
    reply = look_up(name)

    assert (reply.status, reply.addresses, reply.ttl) == (DnsStatus.OK, addresses, ttl)


@pytest.mark.parametrize(
    ("name", "status", "ttl"),
    [
        ("nx.test", DnsStatus.NXDOMAIN, 30),
        ("nxnosoa.test", DnsStatus.NXDOMAIN, 5),
        ("nxbig.test", DnsStatus.NXDOMAIN, 3600),
        ("nodata.test", DnsStatus.NODATA, 30),
        ("nodatanosoa.test", DnsStatus.NODATA, 5),
        ("dangling.test", DnsStatus.NXDOMAIN, 30),
    ],
)
def test_no_addresses_is_an_answer_too(look_up, name, status, ttl):
    reply = look_up(name)

    assert (reply.status, reply.addresses, reply.ttl) == (status, (), ttl)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("sf.test", "SERVFAIL"),
        ("refused.test", "REFUSED"),
        ("tcdead.test", "EOF"),
        ("loop.test", "chain is too long"),
        ("lame.test", "named other servers"),
        ("split-9.test", "more than 8 aliases"),
    ],
)
def test_a_failing_server_is_told_from_an_answer(look_up, name, why):
    reply = look_up(name)

    assert reply.status is DnsStatus.SERVFAIL
    assert why in reply.error


def test_the_canonical_name_and_the_server_are_told(look_up, dns_server):
    reply = look_up("chain-2.test")

    assert reply.canonical == "chain-0.test"
    assert reply.upstream == f"127.0.0.1:{dns_server.address[1]}"


def test_both_families_are_asked_at_once(look_up, dns_server):
    assert look_up("slow-300.test").addresses == (PLAIN,)
    assert dns_server.most_in_flight == 2


def test_of_a_big_answer_sixteen_addresses_are_kept(look_up, dns_server):
    assert len(look_up("many.test").addresses) == 16
    assert dns_server.count("many.test", "A", "tcp") == 1


def test_a_lost_packet_is_sent_again_after_a_second(look_up, dns_server):
    reply = look_up("drop1.test")

    assert reply.addresses == (PLAIN,)
    assert 1000 <= reply.resolve_ms < 2000
    assert dns_server.count("drop1.test", "A") == 2


def test_silence_ends_with_the_time_allowed(look_up, dns_server):
    reply = look_up("to.test", seconds=1.2)

    assert reply.status is DnsStatus.TIMEOUT
    assert 1200 <= reply.resolve_ms < 1700
    assert dns_server.count("to.test", "A") == 2


def test_the_next_server_is_asked_when_one_fails(dns_server):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = taken.getsockname()
    reply = query_name("plain.test", seconds=5, servers=(nobody, dns_server.address))

    assert reply.addresses == (PLAIN,)
    assert reply.resolve_ms < 900


def test_the_next_server_is_asked_when_one_only_names_others(dns_server):
    with serve_names("127.0.0.2") as knowing:
        knowing.hosts = {"lame.test": [PLAIN]}
        reply = query_name("lame.test", seconds=5, servers=(dns_server.address, knowing.address))

    assert (reply.status, reply.addresses) == (DnsStatus.OK, (PLAIN,))
    assert dns_server.count("lame.test", "A") == 1


def test_a_flood_of_forged_answers_is_left_at_the_deadline(look_up):
    reply = look_up("endless.test", seconds=1.2)

    assert reply.status is DnsStatus.TIMEOUT
    assert reply.resolve_ms < 2000


def test_a_server_that_changes_letters_is_asked_by_tcp_once(look_up, dns_server):
    for name in ("fold.a.test", "fold.b.test", "fold.c.test"):
        assert look_up(name).addresses == (PLAIN,)

    assert [dns_server.count(f"fold.{zone}.test", "A", "tcp") for zone in "abc"] == [1, 0, 0]


def test_a_server_that_repeats_letters_over_tcp_is_doubted_each_time(look_up, dns_server):
    for name in ("spelt.a.test", "spelt.b.test"):
        assert look_up(name).addresses == (PLAIN,)

    assert [dns_server.count(f"spelt.{zone}.test", "A", "tcp") for zone in "ab"] == [1, 1]


def test_a_question_without_edns_is_asked_once_more_and_no_other(look_up, dns_server):
    look_up("noedns.test")

    assert dns_server.count("noedns.test", "A") == 2


def test_a_port_where_nobody_listens_is_told_at_once():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = taken.getsockname()
    reply = query_name("plain.test", seconds=5, servers=(nobody,))

    assert reply.status is DnsStatus.SERVFAIL
    assert "refused" in reply.error
    assert reply.resolve_ms < 900


def test_without_any_server_the_setting_is_named():
    assert "DNS_SERVERS" in query_name("plain.test", seconds=1, servers=()).error


def test_the_setting_names_the_servers(settings):
    settings.DNS_SERVERS = (("192.0.2.53", 5353),)

    assert configured_servers() == (("192.0.2.53", 5353),)


def test_a_silent_family_leaves_the_other_time_for_tcp(look_up):
    reply = look_up("tcsix.test", seconds=3)

    assert (reply.status, reply.addresses) == (DnsStatus.OK, (PLAIN,))
    assert reply.resolve_ms < 1900  # the first try, and no other for the family that is silent


def test_the_systems_servers_are_read_anew_when_they_have_changed(settings, tmp_path, monkeypatch):
    file = tmp_path / "resolv.conf"
    settings.DNS_SERVERS = ()
    monkeypatch.setattr(lookup, "RESOLVER_SETTINGS", file)

    found = []
    for number, address in enumerate(("192.0.2.1", "192.0.2.2")):
        file.write_text(f"nameserver {address}\n")
        os.utime(file, ns=(number, number))
        found += [configured_servers(), configured_servers()]

    assert found == [(("192.0.2.1", 53),)] * 2 + [(("192.0.2.2", 53),)] * 2
