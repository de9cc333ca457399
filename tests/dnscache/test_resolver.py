from dataclasses import replace

import pytest

from dnscache import resolver as resolver_module
from dnscache import store
from dnscache.models import DnsEntry
from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply
from dnscache.resolver import AnswerSource
from tests.dns_scenarios import PLAIN, PLAIN_V6

pytestmark = pytest.mark.django_db


def test_a_name_is_looked_up_once_then_remembered(resolver, dns_server):
    first, second = resolver.resolve("dual.test"), resolver.resolve("DUAL.test.")

    assert (first.status, first.addresses, first.source) == (
        DnsStatus.OK,
        (PLAIN, PLAIN_V6),
        AnswerSource.LOOKUP,
    )
    assert (second.name, second.addresses, second.source) == (
        "dual.test",
        (PLAIN, PLAIN_V6),
        AnswerSource.MEMORY,
    )
    assert dns_server.count("dual.test") == 2  # A and AAAA


def test_another_worker_finds_the_answer_in_the_database(make_resolver, dns_server, clock):
    make_resolver().resolve("dual.test")
    clock.advance(100)

    found = make_resolver().resolve("dual.test")

    assert (found.addresses, found.source, found.age, found.ttl) == (
        (PLAIN, PLAIN_V6),
        AnswerSource.DATABASE,
        100,
        200,
    )
    assert dns_server.count("dual.test", "A") == 1


@pytest.mark.parametrize("worker", ["the same", "another"])
def test_an_expired_answer_is_never_served(make_resolver, dns_server, clock, worker):
    resolver = make_resolver()
    resolver.resolve("ttl-30.test")
    clock.advance(29.9)
    assert resolver.resolve("ttl-30.test").source is AnswerSource.MEMORY
    clock.advance(0.1)

    again = (resolver if worker == "the same" else make_resolver()).resolve("ttl-30.test")

    assert (again.source, again.age) == (AnswerSource.LOOKUP, 0)
    assert dns_server.count("ttl-30.test", "A") == 2


def test_an_answer_without_a_life_is_good_for_one_use(resolver, dns_server):
    assert [resolver.resolve("ttl-0.test").addresses for _ in range(2)] == [(PLAIN,), (PLAIN,)]
    assert dns_server.count("ttl-0.test", "A") == 2


@pytest.mark.parametrize(
    ("name", "status"), [("nx.test", DnsStatus.NXDOMAIN), ("nodata.test", DnsStatus.NODATA)]
)
def test_no_such_name_is_remembered_until_it_expires(
    make_resolver, dns_server, clock, name, status
):
    resolver = make_resolver()
    assert resolver.resolve(name).status is status
    clock.advance(29)
    assert resolver.resolve(name).status is make_resolver().resolve(name).status is status
    assert dns_server.count(name, "A") == 1
    clock.advance(1)

    assert resolver.resolve(name).status is status
    assert dns_server.count(name, "A") == 2


def test_a_failing_name_is_left_alone_longer_each_time_then_given_up(
    make_resolver, dns_server, clock
):
    rests = []
    for _ in range(5):
        # each time another worker: the count is in the row
        failed = make_resolver().resolve("sf.test")
        rests.append(failed.ttl)
        clock.advance(failed.ttl - 1)
        assert make_resolver().resolve("sf.test").source is AnswerSource.DATABASE
        clock.advance(1)

    assert rests == [5, 10, 20, 40, 300]
    assert (failed.tries, failed.given_up) == (5, True)
    assert dns_server.count("sf.test", "A") == 5


def test_a_name_given_up_long_ago_has_all_its_tries_again(resolver, clock):
    for _ in range(5):
        clock.advance(resolver.resolve("sf.test").ttl)
    clock.advance(300)

    assert resolver.resolve("sf.test").tries == 1


def test_an_answer_ends_the_count_of_failures(resolver, dns_server, clock):
    clock.advance(resolver.resolve("sf.test").ttl)
    dns_server.hosts["sf.test"] = ["192.0.2.9"]
    assert resolver.resolve("sf.test").tries == 0
    del dns_server.hosts["sf.test"]
    clock.advance(300)

    assert resolver.resolve("sf.test").tries == 1


def test_silence_is_a_failure_once_a_whole_try_went_by(resolver, dns_server):
    assert resolver.resolve("to.test", deadline=0.05).tries == 0
    assert not DnsEntry.objects.filter(name="to.test").exists()

    failed = resolver.resolve("to.test", deadline=1.1)

    assert (failed.status, failed.tries) == (DnsStatus.TIMEOUT, 1)
    assert DnsEntry.objects.get(name="to.test").status == "timeout"


@pytest.mark.parametrize(
    ("host", "addresses"),
    [
        ("127.1", ("127.0.0.1",)),
        ("0x7f000001", ("127.0.0.1",)),
        ("[::1]", ("::1",)),
        ("::1", ("::1",)),
    ],
)
def test_an_address_is_never_asked_of_dns(resolver, dns_server, host, addresses):
    found = resolver.resolve(host)

    assert (found.status, found.addresses, found.source) == (
        DnsStatus.OK,
        addresses,
        AnswerSource.LITERAL,
    )
    assert not dns_server.queries


@pytest.mark.parametrize("host", ["localhost", "x.invalid", "a..b", "", "a b.test", "1.2.3.4.5"])
def test_a_refused_name_is_never_asked_of_dns(resolver, dns_server, host):
    found = resolver.resolve(host)

    assert (found.status, found.addresses) == (DnsStatus.REFUSED_NAME, ())
    assert found.error
    assert not dns_server.queries


def test_an_older_answer_never_replaces_a_newer():
    def answer(address, at):
        return DnsAnswer(
            "late.test", Reply(DnsStatus.OK, (address,), ttl=60), resolved_at=at, expires_at=at + 60
        )

    store.write_answers([answer("192.0.2.2", at=2000)])
    store.write_answers([answer("192.0.2.1", at=1000)])
    assert store.read_answers(["late.test"])["late.test"].reply.addresses == ("192.0.2.2",)
    store.write_answers([answer("192.0.2.3", at=3000)])
    assert store.read_answers(["late.test"])["late.test"].reply.addresses == ("192.0.2.3",)


def test_an_answer_comes_back_from_the_database_as_it_went_in():
    reply = Reply(
        DnsStatus.OK,
        ("192.0.2.1", "2001:db8::1", "::ffff:127.0.0.1"),
        "c.test",
        0,
        60,
        12,
        "[::1]:53",
    )
    answers = [
        DnsAnswer("a.test", reply, 1_800_000_000.25, 1_800_000_060.25),
        DnsAnswer(
            "b.test",
            Reply(DnsStatus.TIMEOUT, error="silence"),
            1_800_000_000.5,
            1_800_000_000.5,
            1_800_000_005.5,
            1,
        ),
    ]

    store.write_answers(answers)

    assert list(store.read_answers(["a.test", "b.test", "c.test"]).values()) == answers
    assert DnsEntry.objects.get(name="a.test").address_classes == [
        "reserved",
        "reserved",
        "loopback",
    ]


def test_a_full_memory_forgets_what_nobody_asks_for_and_the_database_does_not(
    make_resolver, clock, monkeypatch
):
    # on a busy machine one took longer than the others, and is kept for that
    real = resolver_module.query_name
    monkeypatch.setattr(
        resolver_module,
        "query_name",
        lambda name, **options: replace(real(name, **options), resolve_ms=1),
    )
    resolver = make_resolver(capacity=2)
    for name in ("idle.test", "busy.test", "busy.test"):
        resolver.resolve(name)
        clock.advance(1)

    resolver.resolve("new.test")

    assert [resolver.resolve(name).source for name in ("busy.test", "new.test")] == [
        AnswerSource.MEMORY
    ] * 2
    assert resolver.resolve("idle.test").source is AnswerSource.DATABASE


def test_several_addresses_take_turns_ipv4_first(resolver, dns_server):
    dns_server.hosts["a.test"] = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"]

    firsts = [resolver.resolve("a.test").addresses for _ in range(4)]

    assert [addresses[0] for addresses in firsts] == [*firsts[0][:3], firsts[0][0]]
    assert {addresses[3] for addresses in firsts} == {"2001:db8::1"}
    assert all(len(set(addresses)) == 4 for addresses in firsts)


@pytest.mark.parametrize(
    ("name", "region"), [("quick.test", 1), ("slow-400.test", 2), ("nx.test", 2), ("sf.test", 2)]
)
def test_a_row_tells_its_region_and_what_somebody_registered(resolver, name, region):
    resolver.resolve(f"{name.removesuffix('test')}a.shop.co.uk")

    entry = DnsEntry.objects.get()
    assert (entry.region, entry.registrable) == (region, "shop.co.uk")
    assert entry.weight > 0
