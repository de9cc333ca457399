"""Names are resolved before they are needed, by real packets; the test's thread runs the turns."""

import threading
import time

import pytest
from django.db import connection

from dnscache import services
from dnscache.models import DnsEntry, DnsServer
from dnscache.preresolver.plan import NEW_NAMES_A_MINUTE
from dnscache.preresolver.preresolver import PreResolver
from dnscache.protocol.answers import DnsStatus
from dnscache.resolver import AnswerSource, Resolver
from tests.dns_scenarios import PLAIN

pytestmark = pytest.mark.django_db


class Ahead:
    """A pre-resolver with what it is fed and what it delivers."""

    def __init__(self, resolver, **options):
        self.due, self.delivered, self.batches = {}, {}, []
        self.resolver = resolver
        options = {"slots": lambda: 16, "ramp_seconds": 0.0} | options
        self.pre = PreResolver(
            resolver, candidates=lambda until: self.due.items(), deliver=self._take, **options
        )

    def _take(self, found):
        self.batches.append(found)
        self.delivered.update(found)

    def want(self, *hosts, within=5.0):
        self.due.update(dict.fromkeys(hosts, self.resolver.clock() + within))

    def until(self, condition, seconds=60.0):
        until = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < until, self.pre.lanes()
            self.pre.do_round(wait=0.02)

    def all_delivered(self):
        self.until(lambda: self.delivered.keys() >= self.due.keys())


def limit(dns_server, per_second):
    DnsServer.objects.create(server="{}:{}".format(*dns_server.address), per_second=per_second)


@pytest.fixture
def make_ahead(dns_server):
    made = []

    def make(resolver=None, **options):
        made.append(Ahead(resolver or Resolver(servers=(dns_server.address,)), **options))
        return made[-1]

    yield make
    for ahead in made:
        ahead.pre.close()


@pytest.fixture
def ahead(make_ahead):
    return make_ahead()


def test_hosts_that_come_due_are_resolved_before_anybody_asks(
    ahead, dns_server, django_assert_num_queries
):
    ahead.want("a.test", "B.test", "nx.test", "127.1", "localhost")

    ahead.all_delivered()

    assert {host: one.status for host, one in ahead.delivered.items()} == {
        "a.test": DnsStatus.OK,
        "B.test": DnsStatus.OK,
        "nx.test": DnsStatus.NXDOMAIN,
        "127.1": DnsStatus.OK,
        "localhost": DnsStatus.REFUSED_NAME,
    }
    assert DnsEntry.objects.count() == 3
    with django_assert_num_queries(0):
        assert ahead.resolver.resolve("b.test").source is AnswerSource.MEMORY
    assert dns_server.count("b.test", "A") == 1


def test_a_host_is_told_once_for_each_time_it_is_due(ahead):
    ahead.want("a.test", "A.test.")
    ahead.all_delivered()
    for _ in range(5):
        ahead.pre.do_round(wait=0)
    assert len(ahead.batches) == 1

    ahead.want("a.test", within=6)
    ahead.pre.do_round(wait=0)

    assert [list(batch) for batch in ahead.batches[1:]] == [["a.test"]]


def test_the_earliest_due_is_asked_for_first(make_ahead, dns_server):
    ahead = make_ahead(slots=lambda: 1)
    for n in (3, 1, 4, 0, 2):
        ahead.want(f"h{n}.test", within=n)

    ahead.all_delivered()

    asked = [name for name, rdtype, _ in dns_server.queries if rdtype == "A"]
    assert asked == [f"h{n}.test" for n in range(5)]


def test_silent_names_block_nobody(make_ahead):
    ahead = make_ahead(slots=lambda: 64)
    ahead.want(*[f"to.h{n}.test" for n in range(40)], within=1)
    good = [f"h{n}.test" for n in range(40)]
    ahead.want(*good, within=5)

    ahead.until(lambda: all(host in ahead.delivered for host in good))

    assert not any(host.startswith("to.") for host in ahead.delivered)


def test_a_name_cut_after_a_second_is_answered_in_the_slow_lane(ahead, dns_server):
    ahead.want("slow-1300.test")
    begun = time.monotonic()

    ahead.all_delivered()

    assert time.monotonic() - begun < 4
    assert ahead.delivered["slow-1300.test"].addresses == (PLAIN,)
    assert dns_server.count("slow-1300.test", "A") == 2
    assert ahead.pre.lanes().counts == {"queued": 1, "cut": 1, "ok": 1}


@pytest.mark.drill
def test_a_dead_name_is_tried_three_times_then_rests_and_recovers(
    make_ahead, make_resolver, dns_server, clock
):
    ahead = make_ahead(make_resolver())
    ahead.want("to.test")
    ahead.all_delivered()
    dead = ahead.delivered["to.test"]
    assert (dead.status, dead.tries, dns_server.count("to.test", "A")) == (DnsStatus.TIMEOUT, 1, 3)
    for _ in range(5):
        ahead.pre.do_round(wait=0)
    assert ahead.pre.counts["queued"] == 1

    dns_server.hosts["to.test"] = [PLAIN]
    clock.advance(5)
    ahead.until(lambda: ahead.delivered["to.test"].status is DnsStatus.OK)


def test_an_answer_that_would_expire_is_renewed_just_ahead_of_need(
    make_ahead, make_resolver, dns_server, clock
):
    ahead = make_ahead(make_resolver())
    ahead.want("ttl-30.test")
    ahead.all_delivered()
    clock.advance(27)
    ahead.want("ttl-30.test", within=4)
    for _ in range(3):
        ahead.pre.do_round(wait=0.02)
    assert dns_server.count("ttl-30.test", "A") == 1

    clock.advance(3)
    ahead.until(lambda: ahead.pre.counts["ok"] == 2)

    assert dns_server.count("ttl-30.test", "A") == 2


def test_what_others_know_already_is_told_without_asking(make_ahead, make_resolver, dns_server):
    make_resolver().resolve("a.test")
    ahead = make_ahead(make_resolver())
    ahead.want("a.test")

    ahead.pre.do_round(wait=0)

    assert ahead.delivered["a.test"].addresses == (PLAIN,)
    assert dns_server.count("a.test", "A") == 1


def test_a_flushed_name_is_resolved_again(make_ahead, make_resolver, dns_server, clock):
    ahead = make_ahead(make_resolver())
    ahead.want("a.test")
    ahead.all_delivered()
    services.flush_names(["a.test"])
    clock.advance(1)

    ahead.until(lambda: dns_server.count("a.test", "A") == 2)


def test_no_more_look_ups_are_in_flight_than_were_granted(make_ahead, dns_server):
    ahead = make_ahead(slots=lambda: 4)
    ahead.want(*[f"slow-60.h{n}.test" for n in range(12)])

    ahead.all_delivered()

    assert dns_server.most_in_flight <= 2 * 4  # two packets a look-up


def test_with_one_slot_the_lanes_take_turns_and_all_are_answered(make_ahead, dns_server):
    ahead = make_ahead(slots=lambda: 1)
    ahead.want("slow-1300.test", "a.test", "b.test")

    ahead.all_delivered()

    assert {one.status for one in ahead.delivered.values()} == {DnsStatus.OK}
    assert dns_server.most_in_flight <= 2 + 2  # the server continues with what was cut


def test_look_ups_leave_no_faster_than_the_server_s_limit(make_ahead, dns_server):
    limit(dns_server, 20)
    ahead = make_ahead()
    ahead.want(*[f"h{n}.test" for n in range(50)])
    begun = time.monotonic()

    ahead.all_delivered()

    assert time.monotonic() - begun > 1.4  # thirty beyond the burst of twenty


def test_another_rank_than_the_due_time_may_say_who_goes_first(make_ahead, dns_server):
    ahead = make_ahead(slots=lambda: 1, rank=lambda name, due: -int(name[1]))
    for n in range(3):
        ahead.want(f"h{n}.test", within=n)

    ahead.all_delivered()

    asked = [name for name, rdtype, _ in dns_server.queries if rdtype == "A"]
    assert asked == ["h2.test", "h1.test", "h0.test"]


def test_names_that_somebody_makes_up_go_to_the_slow_lane(make_ahead, dns_server):
    limit(dns_server, 1)
    ahead = make_ahead(slots=lambda: 2)
    # silent: none leaves its lane meanwhile
    ahead.want(*[f"to.{n}.spam.test" for n in range(NEW_NAMES_A_MINUTE + 30)], "to.good.test")

    ahead.pre.do_round(wait=0)

    lanes = ahead.pre.lanes()
    assert (lanes.main_depth, lanes.slow_depth) == (NEW_NAMES_A_MINUTE + 1, 30)


@pytest.mark.django_db(transaction=True)
def test_whoever_needs_the_name_meanwhile_joins_the_look_up(ahead, dns_server):
    ahead.want("slow-300.test")
    found = []

    def need():
        found.append(ahead.resolver.resolve("slow-300.test"))
        connection.close()

    ahead.until(lambda: dns_server.count("slow-300.test", "A"))
    other = threading.Thread(target=need)
    other.start()
    ahead.all_delivered()
    other.join()

    assert found[0].addresses == (PLAIN,)
    assert dns_server.count("slow-300.test", "A") == 1


@pytest.mark.django_db(transaction=True)
def test_a_look_up_that_somebody_began_is_not_begun_again(ahead, dns_server):
    other = threading.Thread(
        target=lambda: (ahead.resolver.resolve("slow-300.test"), connection.close())
    )
    other.start()
    while not dns_server.count("slow-300.test", "A"):
        time.sleep(0.005)
    ahead.want("slow-300.test")

    ahead.all_delivered()
    other.join()

    assert ahead.pre.counts["ok"] == 0
    assert dns_server.count("slow-300.test", "A") == 1


def test_whoever_needs_a_name_that_only_queues_does_not_wait_for_its_turn(make_ahead, dns_server):
    limit(dns_server, 2)
    ahead = make_ahead()
    ahead.want(*[f"h{n}.test" for n in range(60)])
    ahead.pre.do_round(wait=0)
    begun = time.monotonic()

    assert ahead.resolver.resolve("h59.test").addresses == (PLAIN,)
    assert time.monotonic() - begun < 20  # its turn would come after half a minute
    ahead.until(lambda: "h59.test" in ahead.delivered)
    assert dns_server.count("h59.test", "A") == 1


def test_closed_it_leaves_nobody_waiting(ahead, dns_server):
    ahead.want("a.test", "to.test")
    ahead.until(lambda: "a.test" in ahead.delivered)
    begun = time.monotonic()

    ahead.pre.close()

    assert time.monotonic() - begun < 4
    asked = dns_server.count("to.test", "A")
    assert ahead.resolver.resolve("to.test", deadline=0.1).status is DnsStatus.TIMEOUT
    # a look-up of its own: there was none left to join
    assert dns_server.count("to.test", "A") == asked + 1
