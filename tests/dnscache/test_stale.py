"""Expired addresses are served while no server answers, and are flagged (RFC 8767)."""

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnscache.models import DnsEntry
from dnscache.protocol.answers import LONGEST_STALE_SECONDS, DnsStatus
from dnscache.resolver import AnswerSource
from tests.dns_scenarios import PLAIN

pytestmark = pytest.mark.django_db


def test_addresses_outlive_their_ttl_while_the_server_fails_and_are_flagged(
    make_resolver, dns_server, clock
):
    resolver = make_resolver()
    assert not resolver.resolve("ttl-30.test").stale
    dns_server.failing.add("ttl-30.test")
    clock.advance(31)

    found = resolver.resolve("ttl-30.test")

    assert (found.status, found.addresses, found.stale, found.tries) == (
        DnsStatus.OK,
        (PLAIN,),
        True,
        1,
    )
    assert "SERVFAIL" in found.error
    assert found.age == 31
    row = DnsEntry.objects.get()
    assert (row.status, row.addresses, row.fails, row.region) == ("ok", [PLAIN], 1, 2)


def test_while_the_name_rests_nobody_is_asked_and_another_worker_serves_the_same(
    make_resolver, dns_server, clock
):
    resolver = make_resolver()
    resolver.resolve("ttl-30.test")
    dns_server.failing.add("ttl-30.test")
    clock.advance(31)
    resolver.resolve("ttl-30.test")
    asked = dns_server.count("ttl-30.test")
    clock.advance(4.9)

    here, there = resolver.resolve("ttl-30.test"), make_resolver().resolve("ttl-30.test")

    assert [(one.source, one.stale, one.addresses) for one in (here, there)] == [
        (AnswerSource.MEMORY, True, (PLAIN,)),
        (AnswerSource.DATABASE, True, (PLAIN,)),
    ]
    assert dns_server.count("ttl-30.test") == asked


def test_the_server_is_asked_again_at_least_every_half_minute_and_a_fresh_answer_ends_it(
    resolver, dns_server, clock
):
    resolver.resolve("ttl-30.test")
    dns_server.failing.add("ttl-30.test")
    clock.advance(31)
    rests = []
    for _ in range(6):
        resolver.resolve("ttl-30.test")
        rests.append(DnsEntry.objects.get().retry_at.timestamp() - clock())
        clock.advance(rests[-1])
    assert rests == [5, 10, 20, 30, 30, 30]
    dns_server.failing.clear()

    found = resolver.resolve("ttl-30.test")

    assert (found.stale, found.tries, found.source) == (False, 0, AnswerSource.LOOKUP)


def test_after_a_day_there_is_nothing_left_to_serve(resolver, dns_server, clock):
    resolver.resolve("ttl-30.test")
    dns_server.failing.add("ttl-30.test")
    clock.advance(30 + LONGEST_STALE_SECONDS)

    found = resolver.resolve("ttl-30.test")

    assert (found.status, found.addresses, found.stale) == (DnsStatus.SERVFAIL, (), False)


def test_a_name_that_is_gone_is_gone(resolver, dns_server, clock):
    dns_server.hosts["nx.test"] = ["192.0.2.9"]
    resolver.resolve("nx.test")
    del dns_server.hosts["nx.test"]
    clock.advance(301)

    assert resolver.resolve("nx.test").status is DnsStatus.NXDOMAIN


def test_whoever_has_stale_addresses_does_not_wait_for_a_silent_server(resolver, dns_server, clock):
    dns_server.hosts["to.test"] = [PLAIN]
    resolver.resolve("to.test")
    del dns_server.hosts["to.test"]
    clock.advance(301)
    begun = time.monotonic()

    found = resolver.resolve("to.test", deadline=8)

    assert (found.addresses, found.stale) == ((PLAIN,), True)
    assert 1.7 < time.monotonic() - begun < 7


NAMES = ("ttl-0.a.test", "ttl-20.b.test", "c.test")
TTL = dict(zip(NAMES, (0, 20, 300), strict=True))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("resolve"), st.sampled_from(NAMES), st.integers(0, 1)),
        st.tuples(st.just("break"), st.sampled_from(NAMES)),
        st.tuples(st.just("mend"), st.sampled_from(NAMES)),
        st.tuples(st.just("wait"), st.sampled_from((1, 19, 20, 31, 299, 301, 86400))),
    ),
    max_size=25,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_no_expired_answer_is_ever_served_unflagged(make_resolver, dns_server, clock, events):
    """Two workers, a server that fails at times, and a plain oracle: when the server last gave the
    address, and its TTL.
    """
    DnsEntry.objects.all().delete()
    dns_server.failing.clear()
    clock.advance(10 * LONGEST_STALE_SECONDS)
    workers, given_at = [make_resolver(), make_resolver()], {}
    for event, subject, *worker in events:
        if event == "break":
            dns_server.failing.add(subject)
        elif event == "mend":
            dns_server.failing.discard(subject)
        elif event == "wait":
            clock.advance(subject)
        else:
            asked = dns_server.count(subject)
            found = workers[worker[0]].resolve(subject)
            just_given = dns_server.count(subject) > asked and subject not in dns_server.failing
            if just_given:
                given_at[subject] = clock()
            if found.status is DnsStatus.OK:
                expires_at = given_at[subject] + TTL[subject]
                assert found.stale == (not just_given and clock() >= expires_at)
                assert clock() < expires_at + LONGEST_STALE_SECONDS or just_given
                assert not found.stale or found.tries > 0
            else:
                assert found.tries > 0
