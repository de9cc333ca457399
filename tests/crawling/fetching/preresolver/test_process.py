"""The process that resolves ahead: what it holds, what it gives back, and what becomes of crawls
without it.
"""

import threading
import time
from contextlib import contextmanager
from uuid import uuid4

import pytest
from django.db import connection

from allocation.models import Process, ProcessState
from allocation.services import GRANTS_CHANNEL, register_process, request_resources
from crawling.fetching.preresolver import process
from crawling.fetching.preresolver.process import PreResolverProcess
from crawling.fetching.preresolver.slots import LookupSlots, MachineLock
from crawling.machine.notices import StopEvent
from crawling.models import Url
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from crawling.runs.steering import stop
from crawling.scheduler.messages import deliver_messages
from crawlsite.health.probes import check_dns_resolver
from dnscache import store
from dnscache.preresolver.preresolver import live_pre_resolvers
from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply
from dnscache.resolver import Resolver, forget
from dnscache.selectors import registered_names
from tests.stack import running_stack

#: of the test's pool of 64 look-ups in flight
HALF = 32


@contextmanager
def resolving_ahead(machine="m"):
    ending = StopEvent()
    thread = threading.Thread(target=PreResolverProcess(machine, Resolver()).work, args=[ending])
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(60)
        assert not thread.is_alive()


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def held():
    return sum(
        sum(row.allocated)
        for row in Process.objects.filter(run_ref__startswith="names/", state=ProcessState.ACTIVE)
    )


def listens():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE query = %s AND state = 'idle' "
            "AND datname = current_database()",
            [f"LISTEN {GRANTS_CHANNEL}"],
        )
        return cursor.fetchone()[0]


def test_it_begins_at_once_with_the_first_crawl_after_an_idle_time(
    order, dns_server, identified, monkeypatch
):
    monkeypatch.setattr(process, "IDLE_SECONDS", 600.0)  # so that only a notification ends it
    crawl = create_crawl(order("http://to.test/"))
    with resolving_ahead():
        until(listens)

        start_run(crawl)

        until(lambda: live_pre_resolvers().exists() and held() == HALF)


def test_it_holds_slots_while_a_crawl_is_at_work_and_nothing_stays(order, dns_server, identified):
    crawl = create_crawl(order("http://to.test/"))
    start_run(crawl)
    with resolving_ahead():
        until(lambda: live_pre_resolvers().exists() and held() == HALF)
        deliver_messages()  # the scheduler makes no shift of the grant
        stop(crawl)
        until(
            lambda: (
                not live_pre_resolvers().exists()
                and not Process.objects.filter(
                    run_ref__startswith="names/", state="active"
                ).exists()
            )
        )

    assert held() == 0


def test_its_cache_has_all_that_was_stored_and_can_be_read(pool):
    now = time.time()
    reply = Reply(DnsStatus.OK, ("192.0.2.1",), "", 0, 300, 10)
    store.write_answers([DnsAnswer("www.stored.test", reply, now, now + 300)])
    with resolving_ahead():
        until(lambda: [one.registrable for one in registered_names().domains] == ["stored.test"])

    assert registered_names().machine is None


def test_what_a_killed_one_held_goes_back_when_the_next_begins(pool):
    dead, fresh = LookupSlots("m"), LookupSlots("m")
    dead.look(wanted=True)
    assert dead.held == held() == HALF

    fresh.settle()

    assert held() == 0
    fresh.look(wanted=True)
    assert fresh.held == held() == HALF


@pytest.mark.drill
def test_killed_outright_the_next_one_takes_over_its_slots(
    transactional_db, order, dns_server, identified, tmp_path
):
    start_run(create_crawl(order("http://to.test/")))
    with running_stack(tmp_path, DNS_SERVERS="{}:{}".format(*dns_server.address)) as stack:
        first = stack.start(["resolve_ahead"])
        until(lambda: live_pre_resolvers().exists() and held() == HALF, seconds=60)
        dead = Process.objects.get(run_ref__startswith="names/").pk
        first.kill()
        first.wait()
        stack.start(["resolve_ahead"])
        until(
            lambda: held() == HALF and Process.objects.get(pk=dead).state == ProcessState.FINISHED,
            seconds=30,
        )

    assert held() == 0


def test_one_a_machine_works_and_a_seat_is_free_once_its_holder_is_dead(pool):
    first, second, elsewhere = MachineLock("m"), MachineLock("m"), MachineLock("n")
    assert [seat.is_held() for seat in (first, second, elsewhere, first)] == [
        True,
        False,
        True,
        True,
    ]

    first.close()

    until(second.is_held)
    assert check_dns_resolver() == "ok"
    for seat in (second, elsewhere):
        seat.close()
    until(lambda: check_dns_resolver().startswith("the pre-resolver is not running"))


def test_it_gives_way_when_its_slice_is_over_and_others_wait(pool, settings):
    settings.CRAWL_SLICE_SECONDS = 0.0
    slots = LookupSlots("m")
    slots.look(wanted=True)
    slots.look(wanted=True)
    assert slots.held == HALF  # nobody waits
    greedy = register_process(
        pool=pool.pk, label="all of them", run_ref="x", maximum={"dns_slots": 64}
    )
    assert not request_resources(
        process=greedy.pk, amounts={"dns_slots": 64}, request_id=uuid4()
    ).granted

    slots.look(wanted=True)

    assert (slots.held, held()) == (0, 0)
    greedy.refresh_from_db()
    assert sum(greedy.allocated) == 64


def test_a_crawl_finds_its_names_resolved_and_those_that_fail_cost_it_no_try(
    order, work_off, dns_server, make_site, identified
):
    site = make_site({"/": "hello"})
    port = site.url.rpartition(":")[2]
    names = [f"h{n}.test" for n in range(10)]
    dns_server.hosts.update({name: ["127.0.0.1"] for name in names})
    forget()
    with resolving_ahead():
        run = start_run(
            create_crawl(
                order(
                    *[f"http://{name}:{port}/" for name in names],
                    *[f"http://sf.s{n}.test/" for n in range(5)],
                )
            )
        )
        until(lambda: live_pre_resolvers().exists())
        work_off(run, until=lambda run: Url.objects.filter(run=run, state="s").count() == 10)
        asked = {name: dns_server.count(name, "A") for name in names}

    assert set(asked.values()) == {1}
    assert not Url.objects.filter(run=run, url__contains="//sf.", attempts__gt=0).exists()
