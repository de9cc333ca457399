import pytest

from dnscache import services, store
from dnscache.models import DnsEntry
from dnscache.protocol.answers import LONGEST_STALE_SECONDS, DnsAnswer, DnsStatus, Reply
from dnscache.regions.entry import CachedAnswer, Region, nodes_of_row, unpack_row
from dnscache.resolver import AnswerSource
from tests.dns_scenarios import PLAIN

pytestmark = pytest.mark.django_db


def test_a_new_process_begins_with_what_the_last_one_knew(
    make_resolver, dns_server, clock, django_assert_num_queries
):
    make_resolver().resolve_many(
        ["www.a.test", "a.test", "x.y.a.test", "nx.test", "sf.test", "slow-400.test"],
        parallel=6,
        deadline=5,
    )
    clock.advance(1)
    asked = sum(dns_server.queries.values())
    resolver = make_resolver()

    assert resolver.load_stored_answers() == 6

    with django_assert_num_queries(0):
        found = resolver.resolve_many(
            ["www.a.test", "x.y.a.test", "nx.test", "sf.test", "slow-400.test"],
            parallel=6,
            deadline=5,
        )
    assert {one.source for one in found.values()} == {AnswerSource.MEMORY}
    assert found["www.a.test"].addresses == (PLAIN,)
    assert sum(dns_server.queries.values()) == asked
    space = resolver.memory.space
    assert {node.name for node in nodes_of_row(space.forward.table1["a.test"])} == {
        "www.a.test",
        "y.a.test",
    }
    assert space.reverse.table3.keys() == {"nx.test", "sf.test", "slow-400.test"}


def test_an_entry_comes_back_as_it_went_in(clock):
    replies = [
        Reply(DnsStatus.OK, ("192.0.2.1", "2001:db8::1"), "c\\092d.test", 0, 60, 400, "[::1]:53"),
        Reply(DnsStatus.TIMEOUT, error="a\ttab, a\nline and a \\ backslash"),
    ]
    answers = [
        DnsAnswer("a.test", replies[0], clock() - 0.25, clock() + 59.75),
        DnsAnswer("b.test", replies[1], clock() - 1.5, clock() - 1.5, clock() + 3.5, 1),
    ]
    written = [CachedAnswer(answer, now=clock()) for answer in answers]
    written[0].count_hit(clock() + 60)
    store.write_entries(written)

    read = [unpack_row(name, row)[1] for name, row in store.stored_rows(most=10, now=clock())]

    assert sorted((entry.answer for entry in read), key=lambda answer: answer.name) == answers
    assert {
        (e.name, e.hits, e.last_access, e.cost_seconds, e.region, e.fresh_until) for e in read
    } == {(e.name, e.hits, e.last_access, e.cost_seconds, e.region, e.fresh_until) for e in written}


def test_only_what_is_of_use_is_loaded_the_weightiest_first(make_resolver, clock):
    def entry(name, *, ttl=60, ms=20, at=0.0):
        answer = DnsAnswer(
            name,
            Reply(DnsStatus.OK, (PLAIN,), ttl=ttl, resolve_ms=ms),
            clock() + at,
            clock() + at + ttl,
        )
        return CachedAnswer(answer, now=clock() + at)

    store.write_entries(
        [entry("light.test"), entry("heavy.test", ms=5000), entry("stale.test", at=-90, ms=100)]
    )
    store.write_entries([entry("useless.test", at=-61 - LONGEST_STALE_SECONDS, ms=9000)])
    gone = DnsAnswer("gone.test", Reply(DnsStatus.NXDOMAIN, ttl=30), clock() - 31, clock() - 1)
    store.write_answers([gone])

    assert {name for name, _ in store.stored_rows(most=10, now=clock())} == {
        "heavy.test",
        "stale.test",
        "light.test",
    }
    resolver = make_resolver(capacity=2)
    assert resolver.load_stored_answers() == 2
    assert [resolver.memory.knows(name) for name in ("heavy.test", "stale.test", "light.test")] == [
        True,
        True,
        False,
    ]
    assert resolver.memory.find("heavy.test", clock()).region is Region.REVERSE


def test_what_is_at_hand_is_not_replaced_by_a_row(make_resolver, dns_server, clock):
    resolver = make_resolver()
    resolver.resolve("a.test")
    DnsEntry.objects.update(addresses=["192.0.2.99"])

    assert resolver.load_stored_answers() == 0
    assert resolver.resolve("a.test").addresses == (PLAIN,)


def test_workers_that_learn_different_things_converge_on_the_newest(
    make_resolver, dns_server, clock
):
    workers = [make_resolver() for _ in range(3)]
    for turn, worker in enumerate(workers):
        dns_server.hosts["a.test"] = [f"192.0.2.{turn}"]
        clock.advance(301)
        worker.resolve("a.test")
    # it has expired from the memory of each, but for the last one's the row as well
    clock.advance(300)

    dns_server.hosts["a.test"] = ["192.0.2.77"]
    assert {worker.resolve("a.test").addresses for worker in workers} == {("192.0.2.77",)}
    assert dns_server.count("a.test", "A") == 4


def test_a_full_memory_lets_go_of_what_nobody_asked_for_first(make_resolver, dns_server, clock):
    make_resolver().resolve_many(["a.test", "b.test", "c.test"], parallel=3, deadline=5)
    resolver = make_resolver(capacity=3)
    resolver.load_stored_answers()
    used = resolver.resolve("a.test")

    resolver.resolve_many(["d.test", "e.test"], parallel=2, deadline=5)

    known = {name for name in "abcde" if resolver.memory.knows(f"{name}.test")}
    assert (used.source, known) == (AnswerSource.MEMORY, set("ade"))


@pytest.mark.parametrize(
    "flush",
    [
        lambda: services.flush_names(["a.shop.test"]),
        lambda: services.flush_domain("shop.test"),
        services.flush_all,
    ],
)
def test_a_flush_reaches_what_was_taken_over_and_not_yet_asked_for(
    make_resolver, dns_server, clock, flush
):
    make_resolver().resolve_many(["a.shop.test", "b.test"], parallel=2, deadline=5)
    resolver = make_resolver()
    resolver.load_stored_answers()
    resolver.resolve("b.test")

    flush()
    clock.advance(1)

    assert resolver.resolve("a.shop.test").source is AnswerSource.LOOKUP


def test_a_flush_of_the_reverse_region_leaves_what_is_quick_of_what_was_taken_over(
    make_resolver, dns_server, clock
):
    make_resolver().resolve_many(["a.test", "nx.test"], parallel=2, deadline=5)
    resolver = make_resolver()
    resolver.load_stored_answers()
    resolver.resolve("b.test")

    services.flush_reverse_region()
    clock.advance(1)
    resolver.resolve("b.test")

    assert (resolver.memory.knows("a.test"), resolver.memory.knows("nx.test")) == (True, False)


def test_a_name_that_was_taken_over_is_renewed_like_any_other(make_resolver, dns_server, clock):
    make_resolver().resolve("ttl-30.test")
    resolver = make_resolver()
    resolver.load_stored_answers()
    clock.advance(30)

    assert resolver.resolve("ttl-30.test").source is AnswerSource.LOOKUP
    assert resolver.resolve("ttl-30.test").source is AnswerSource.MEMORY
