import threading
import time

import pytest
from django.db import close_old_connections, connection

from dnscache import resolver as resolver_module
from dnscache.models import DnsEntry
from dnscache.protocol.answers import DnsStatus
from dnscache.resolver import AnswerSource
from tests.dns_scenarios import PLAIN


@pytest.mark.django_db
def test_many_hosts_cost_one_read_and_two_writes(resolver, django_assert_num_queries):
    hosts = [f"h{n}.test" for n in range(20)] + ["nx.test", "sf.test", "127.1", "localhost"]

    with django_assert_num_queries(3):  # answers, and what the server was asked
        found = resolver.resolve_many(hosts, parallel=8, deadline=5)

    assert found.keys() == set(hosts)
    assert {found[f"h{n}.test"].addresses for n in range(20)} == {(PLAIN,)}
    assert [found[host].status for host in hosts[-4:]] == [
        DnsStatus.NXDOMAIN,
        DnsStatus.SERVFAIL,
        DnsStatus.OK,
        DnsStatus.REFUSED_NAME,
    ]
    assert DnsEntry.objects.count() == 22


@pytest.mark.django_db
def test_what_is_known_is_not_asked_again(make_resolver, dns_server, django_assert_num_queries):
    make_resolver().resolve_many(["a.test", "b.test"], parallel=2, deadline=5)
    resolver = make_resolver()

    with django_assert_num_queries(3):  # answers, and what the server was asked
        found = resolver.resolve_many(["a.test", "b.test", "c.test"], parallel=2, deadline=5)
    with django_assert_num_queries(0):
        resolver.resolve_many(["a.test", "b.test", "c.test"], parallel=2, deadline=5)

    assert [found[name].source for name in ("a.test", "b.test", "c.test")] == [
        AnswerSource.DATABASE,
        AnswerSource.DATABASE,
        AnswerSource.LOOKUP,
    ]
    assert dns_server.count("a.test", "A") == dns_server.count("c.test", "A") == 1


@pytest.mark.django_db
@pytest.mark.parametrize("spellings", [["a.test", "A.test", "a.test."]])
def test_spellings_of_one_name_are_one_look_up(resolver, dns_server, spellings):
    found = resolver.resolve_many(spellings, parallel=3, deadline=5)

    assert {found[spelling].name for spelling in spellings} == {"a.test"}
    assert dns_server.count("a.test", "A") == 1


@pytest.mark.django_db
def test_no_more_look_ups_are_in_flight_than_were_granted(resolver, dns_server):
    resolver.resolve_many([f"slow-60.h{n}.test" for n in range(9)], parallel=3, deadline=5)

    assert dns_server.most_in_flight <= 2 * 3  # two packets a look-up


@pytest.mark.django_db
def test_silent_names_hold_up_no_longer_than_the_deadline(resolver, dns_server):
    begun = time.monotonic()
    found = resolver.resolve_many(
        [*(f"to.{one}.test" for one in "abcdefghijklmnopqrstuvwxyz"), "good.test"],
        parallel=2,
        deadline=1.2,
    )

    assert time.monotonic() - begun < 12  # one after the other, two at once, take 16 seconds
    assert {found[name].status for name in found if name.startswith("to.")} == {DnsStatus.TIMEOUT}
    assert found["to.a.test"].waited >= 1.2


@pytest.mark.django_db
def test_the_database_is_left_alone_while_name_servers_are_asked(make_resolver, dns_server):
    """Not one statement runs during the look-ups, in whatever thread, so that no transaction can
    wait for the network.
    """
    seen = []

    def spy(execute, sql, params, many, context):
        seen.append((threading.current_thread(), sum(dns_server.queries.values())))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(spy):
        make_resolver().resolve_many(["a.test", "b.test", "c.test"], parallel=3, deadline=5)

    here = threading.current_thread()
    assert seen == [(here, 0), (here, 6), (here, 6)]


@pytest.mark.django_db(transaction=True)
def test_sixty_four_threads_that_want_one_name_ask_once(resolver, dns_server):
    barrier, found = threading.Barrier(64), []

    def want():
        barrier.wait()
        found.append(resolver.resolve("slow-200.test"))
        connection.close()

    threads = [threading.Thread(target=want) for _ in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [one.addresses for one in found] == [(PLAIN,)] * 64
    assert (dns_server.count("slow-200.test", "A"), dns_server.count("slow-200.test", "AAAA")) == (
        1,
        1,
    )


@pytest.mark.django_db(transaction=True)
def test_a_thread_waits_for_anothers_look_up_no_longer_than_its_own_deadline(resolver, dns_server):
    leader = threading.Thread(
        target=lambda: (resolver.resolve("slow-800.test"), connection.close())
    )
    leader.start()
    while not dns_server.count("slow-800.test"):
        time.sleep(0.005)

    impatient = resolver.resolve("slow-800.test", deadline=0.1)

    assert (impatient.status, impatient.tries) == (DnsStatus.TIMEOUT, 0)
    assert 0.1 <= impatient.waited < 0.6
    leader.join()
    assert resolver.resolve("slow-800.test").addresses == (PLAIN,)
    close_old_connections()


@pytest.mark.django_db
def test_a_fault_of_ours_in_one_look_up_is_raised_and_lets_nobody_wait(resolver, monkeypatch):
    real = resolver_module.query_name

    def stumble(name, **options):
        if name == "h3.test":
            raise ZeroDivisionError
        return real(name, **options)

    monkeypatch.setattr(resolver_module, "query_name", stumble)
    with pytest.raises(ZeroDivisionError):
        resolver.resolve_many([f"h{n}.test" for n in range(8)], parallel=4, deadline=5)
    monkeypatch.undo()

    found = resolver.resolve_many([f"h{n}.test" for n in range(8)], parallel=4, deadline=5)
    assert {one.status for one in found.values()} == {DnsStatus.OK}
    assert found["h3.test"].waited < 4, "it waited for the look-up that had failed"
