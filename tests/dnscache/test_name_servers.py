"""Each name server's limit, which all processes share, and what it was asked."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.urls import reverse

from dnscache.lookup import server_text
from dnscache.models import DnsServer
from dnscache.name_servers import take_tokens
from dnscache.preresolver.preresolver import PreResolver
from dnscache.protocol.answers import DnsStatus
from dnscache.resolver import Resolver
from dnscache.selectors import name_servers
from tests.crawling.pages import browser, soup
from tests.nameserver import serve_names

pytestmark = pytest.mark.django_db
SERVER = "192.0.2.53:53"


def earlier(seconds):
    DnsServer.objects.update(taken_at=F("taken_at") - timedelta(seconds=seconds))


def figures(dns_server):
    [told] = [one for one in name_servers() if one.server == server_text(dns_server.address)]
    return told


def resolve_ahead(names, *servers):
    """Resolve the names ahead, as a process that does not start slowly; returns the seconds."""
    delivered = {}
    due = dict.fromkeys(names, time.time() + 5)
    pre = PreResolver(
        Resolver(servers=tuple(server.address for server in servers)),
        candidates=lambda until: due.items(),
        deliver=delivered.update,
        slots=lambda: 16,
        ramp_seconds=0.0,
    )
    begun = time.monotonic()
    while delivered.keys() < due.keys():
        assert time.monotonic() < begun + 20
        pre.do_round(wait=0.02)
    pre.close()
    return time.monotonic() - begun


def test_a_burst_of_a_second_may_leave_then_so_many_a_second():
    DnsServer.objects.create(server=SERVER, per_second=10)

    assert [take_tokens(SERVER, 8), take_tokens(SERVER, 8), take_tokens(SERVER, 8)] == [8, 2, 0]
    earlier(0.5)
    assert take_tokens(SERVER, 8) == 5
    earlier(3600)
    assert take_tokens(SERVER, 80) == 10


def test_a_process_that_starts_slowly_takes_a_share_only():
    DnsServer.objects.create(server=SERVER, per_second=100)

    assert take_tokens(SERVER, 80, share=0.1) == 10
    assert take_tokens(SERVER, 80, share=1) < 5
    DnsServer.objects.update(per_second=1)
    earlier(20)
    assert take_tokens(SERVER, 80, share=0.1) == 1


@pytest.mark.django_db(transaction=True)
def test_processes_that_take_at_once_get_no_more_than_there_is():
    DnsServer.objects.create(server=SERVER, per_second=100)
    got, barrier = [], threading.Barrier(4)

    def take():
        barrier.wait()
        got.extend(take_tokens(SERVER, 10) for _ in range(8))
        connection.close()

    threads = [threading.Thread(target=take) for _ in range(4)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 100 <= sum(got) <= 101 + 100 * (time.monotonic() - begun)


def test_look_ups_that_are_waited_for_and_further_tries_are_taken_off(dns_server):
    limit = DnsServer.objects.create(server=server_text(dns_server.address), per_second=100)
    Resolver(servers=(dns_server.address,)).resolve_many(
        ["a.test", "drop1.test", "sf.test", "tc.test"], parallel=4, deadline=5
    )

    limit.refresh_from_db()
    assert limit.tokens == 200 - 5
    told = figures(dns_server)
    assert (told.asked, told.answered, told.failed, told.silent) == (5, 3, 1, 1)
    assert (told.per_second, told.over_tcp) == (100, 2)
    assert 0 < told.mean_ms <= told.longest_ms < 1000


def test_beyond_a_server_s_limit_the_next_one_is_asked(dns_server):
    DnsServer.objects.create(server=server_text(dns_server.address), per_second=2)
    names = [f"h{n}.test" for n in range(12)]
    with serve_names() as other:
        assert resolve_ahead(names, dns_server, other) < 3

        asked = [sum(server.count(name, "A") for name in names) for server in (dns_server, other)]
    assert sum(asked) == 12
    assert 2 <= asked[0] <= 8


def test_without_any_name_server_names_fail_at_once():
    assert resolve_ahead(["a.test"]) < 3
    assert Resolver(servers=()).resolve("a.test").status is DnsStatus.SERVFAIL


def test_an_administrator_sets_a_limit_and_nobody_else(dns_server):
    server = server_text(dns_server.address)
    administrator = browser("administrator")

    administrator.post(reverse("dnscache:limit"), {"server": server, "per_second": "50"})
    assert figures(dns_server).per_second == 50
    path, kind = f"/api/v1/dns/servers/{server}", "application/json"
    assert administrator.patch(path, {"per_second": 7}, kind).json()["per_second"] == 7
    assert administrator.patch(path, {"per_second": 0}, kind).status_code == 422
    assert administrator.patch(f"{path}9", {"per_second": 7}, kind).status_code == 404
    for wrong in ({"server": server, "per_second": "-1"}, {"server": "x", "per_second": "9"}):
        told = administrator.post(reverse("dnscache:limit"), wrong, follow=True)
        assert "The limit is as it was" in soup(told).main.get_text()

    assert figures(dns_server).per_second == 7
    assert browser("operator").patch(path, {"per_second": 9}, kind).status_code == 403
    assert "7/s" in soup(administrator.get(reverse("dnscache:overview"))).main.get_text()
