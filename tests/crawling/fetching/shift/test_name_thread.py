"""Names are resolved beside the fetch threads, and no trouble there leaves a host hanging."""

from queue import Empty, Queue

import pytest
from django.db import connection

from crawling.fetching.pipeline.visit import Visit
from crawling.fetching.shift.name_thread import NameThread
from crawling.frontier import ClaimedUrl, LeasedHost
from dnscache.protocol.answers import DnsStatus


@pytest.fixture
def delivered():
    return Queue()


@pytest.fixture
def names(transactional_db, dns_server, delivered):
    thread = NameThread(delivered.put, lambda: 4)
    yield thread
    thread.close()
    if thread._thread.ident:
        thread._thread.join(60)
    assert not thread._thread.is_alive()


def visit(name):
    made = Visit.of(LeasedHost(1, 1, name, 0.0))
    made.urls.append(ClaimedUrl(1, 1, f"http://{name}/", 0, 1, 0.0))
    return made


def test_a_visit_comes_back_with_the_addresses_of_its_host(names, delivered, dns_server):
    dns_server.hosts["a.test"] = ["192.0.2.1"]

    names.ask(visit("a.test"))

    assert delivered.get(timeout=60).route.resolution.addresses == ("192.0.2.1",)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("127.0.0.1", DnsStatus.OK),
        ("[::1]", DnsStatus.OK),
        ("a..b", DnsStatus.REFUSED_NAME),
        ("localhost", DnsStatus.REFUSED_NAME),
    ],
)
def test_a_host_of_any_kind_comes_back(names, delivered, name, status):
    names.ask(visit(name))

    assert delivered.get(timeout=60).route.resolution.status == status


def test_visits_of_one_host_all_come_back(names, delivered, dns_server):
    dns_server.hosts["a.test"] = ["192.0.2.1"]
    visits = [visit("a.test") for _ in range(5)]

    for one in visits:
        names.ask(one)

    assert {id(delivered.get(timeout=60)) for _ in visits} == {id(one) for one in visits}
    assert all(one.route.resolution.status is DnsStatus.OK for one in visits)


def test_a_broken_connection_to_the_database_costs_nobody_an_answer(names, delivered, dns_server):
    names.ask(visit("a.test"))
    delivered.get(timeout=60)
    break_other_connections()

    names.ask(visit("b.test"))

    assert delivered.get(timeout=60).route.resolution.status is DnsStatus.OK


def test_silent_names_hold_up_nobody_even_where_nothing_was_resolved_ahead(names, delivered):
    for n in range(20):
        names.ask(visit(f"to.h{n}.test"))
    names.ask(visit("a.test"))

    assert delivered.get(timeout=60).host.name == "a.test"


def break_other_connections():
    """End all sessions of the test's database but this one, as a restart of PostgreSQL would."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid()"
        )
        pids = [pid for (pid,) in cursor.fetchall()]
        assert pids
        cursor.execute("SELECT pg_terminate_backend(pid, 5000) FROM unnest(%s) AS pid", [pids])


def test_after_closing_nothing_is_delivered_any_more(names, delivered):
    names.ask(visit("127.0.0.1"))
    delivered.get(timeout=60)
    names.close()
    names._thread.join(60)

    names.ask(visit("127.0.0.1"))

    with pytest.raises(Empty):
        delivered.get(timeout=0.1)
