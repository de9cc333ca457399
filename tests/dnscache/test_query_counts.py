"""The cost of a resolver for name servers, counted by the server: packets by name, type and
transport.
"""

import threading

import pytest
from django.db import connection

from tests.dns_scenarios import PLAIN

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("name", "udp", "tcp"),
    [
        ("plain.test", 2, 0),  # A and AAAA
        ("chain-8.test", 2, 0),
        ("loop.test", 2, 0),
        ("dangling.test", 2, 0),
        ("nx.test", 2, 0),
        ("nodatanosoa.test", 2, 0),
        ("sf.test", 2, 0),  # the only server there is
        ("refused.test", 2, 0),
        ("tc.test", 2, 2),
        ("tcdead.test", 2, 2),
        ("many.test", 2, 2),
        ("wrongid.test", 2, 0),  # the good packet is waited for, nothing is sent again
        ("wrongq.test", 2, 0),
        ("garbage.test", 2, 0),
        ("poison.test", 2, 0),
        ("drop1.test", 4, 0),
    ],
)
def test_a_cold_name_costs_no_packet_too_many_and_a_warm_one_none(
    resolver, dns_server, name, udp, tcp
):
    resolver.resolve(name)
    resolver.resolve(name)

    assert (dns_server.count(name, "udp"), dns_server.count(name, "tcp")) == (udp, tcp)


def test_an_alias_that_must_be_asked_for_costs_one_exchange_a_hop(resolver, dns_server):
    resolver.resolve("split-3.test")

    assert [dns_server.count(f"split-{n}.test") for n in (3, 2, 1, 0)] == [2, 2, 2, 2]


def test_a_record_that_nobody_asked_for_is_not_kept(resolver, dns_server):
    resolver.resolve("poison.test")

    assert resolver.resolve("victim.test").addresses == (PLAIN,)
    assert dns_server.count("victim.test") == 2


def test_a_failing_name_asked_for_all_day_costs_a_few_packets(make_resolver, dns_server, clock):
    """Asked for each minute for a day by new workers: five tries, then one each five minutes."""
    for _ in range(24 * 60):
        make_resolver().resolve("sf.test")
        clock.advance(60)

    assert dns_server.count("sf.test", "A") == pytest.approx(24 * 12, abs=8)


def test_a_name_with_a_short_ttl_is_asked_for_once_a_life(resolver, dns_server, clock):
    for _ in range(100):
        resolver.resolve("ttl-30.test")
        clock.advance(1)

    assert dns_server.count("ttl-30.test", "A") == 4


@pytest.mark.django_db(transaction=True)
def test_threads_that_want_names_in_different_orders_share_the_look_ups(resolver, dns_server):
    names = [f"slow-100.h{n}.test" for n in range(5)]
    barrier = threading.Barrier(16)

    def want(turn):
        barrier.wait()
        resolver.resolve_many(names[turn % 5 :] + names[: turn % 5], parallel=5, deadline=5)
        connection.close()

    threads = [threading.Thread(target=want, args=(turn,)) for turn in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {dns_server.count(one, "A") for one in names} == {1}
