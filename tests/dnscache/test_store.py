"""Answers are written behind the look-ups, and a crash loses at most a second of them."""

import os
import subprocess
import sys
import threading
import time

import pytest
from django.db import connection

from dnscache import store as behind
from dnscache.models import DnsEntry
from dnscache.regions.entry import CachedAnswer
from dnscache.store import WriteBehind
from tests import stack
from tests.dnscache.regions.conftest import good

pytestmark = pytest.mark.slow

IS_WAITED_FOR = (
    "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'dnscache_dnsentry'::regclass"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


def entries(names, **options):
    return [
        CachedAnswer(good(name, **options), now=good(name, **options).resolved_at) for name in names
    ]


@pytest.mark.django_db
def test_nothing_is_written_in_the_callers_way(
    make_resolver, dns_server, django_assert_num_queries
):
    writer = WriteBehind()
    resolver = make_resolver(writer=writer)

    with django_assert_num_queries(1):  # the read
        resolver.resolve_many(["a.test", "b.test"], parallel=2, deadline=5)
    with django_assert_num_queries(2):  # answers, and what the server was asked
        writer.flush()
    with django_assert_num_queries(0):
        writer.flush()

    assert DnsEntry.objects.count() == 2


@pytest.mark.django_db
def test_only_the_newest_entry_of_a_name_is_written_and_batches_are_bounded(
    django_assert_num_queries,
):
    writer = WriteBehind()
    writer.write_entries(entries([f"h{n}.test" for n in range(behind.WRITE_BATCH + 1)]))
    writer.write_entries(entries(["h0.test"], address="192.0.2.9"))

    with django_assert_num_queries(2):
        writer.flush()

    assert DnsEntry.objects.count() == behind.WRITE_BATCH + 1
    assert DnsEntry.objects.get(name="h0.test").addresses == ["192.0.2.9"]


@pytest.mark.django_db(transaction=True)
def test_the_failures_of_a_name_are_counted_before_they_are_written(
    make_resolver, dns_server, clock
):
    resolver = make_resolver(writer=WriteBehind())
    tries = []
    for _ in range(3):
        tries.append(resolver.resolve("sf.test").tries)
        clock.advance(60)

    assert tries == [1, 2, 3]


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_written_waits_until_it_can_unless_something_newer_came_meanwhile():
    writer = WriteBehind()
    writer.write_entries(entries(["a.test", "b.test"]))
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '300ms'")
    other = connection.copy()
    other.inc_thread_sharing()

    def learn_more_while_it_waits():
        stack.wait_until(lambda: other.cursor().execute(IS_WAITED_FOR).fetchone())
        writer.write_entries(entries(["b.test"], address="192.0.2.9"))

    with other.cursor() as cursor:
        cursor.execute("BEGIN; LOCK TABLE dnscache_dnsentry IN ACCESS EXCLUSIVE MODE")
    thread = threading.Thread(target=learn_more_while_it_waits)
    thread.start()
    try:
        writer.flush()
        thread.join()
    finally:
        other.close()

    writer.flush()

    assert dict(DnsEntry.objects.values_list("name", "addresses"))["b.test"] == ["192.0.2.9"]
    assert DnsEntry.objects.filter(name="a.test").exists()


@pytest.mark.django_db(transaction=True)
def test_a_full_batch_is_written_at_once():
    writer = WriteBehind(every_seconds=3600)
    writer.start()

    writer.write_entries(entries([f"h{n}.test" for n in range(behind.WRITE_BATCH)]))

    stack.wait_until(lambda: DnsEntry.objects.count() == behind.WRITE_BATCH)
    writer.close()


@pytest.mark.django_db(transaction=True)
def test_a_closed_writer_has_written_everything():
    writer = WriteBehind()
    writer.start()
    writer.write_entries(entries([f"h{n}.test" for n in range(20)]))

    writer.close()

    assert DnsEntry.objects.count() == 20


CHILD = """
import django, sys, time
django.setup()
from dnscache.store import WriteBehind
from dnscache.resolver import Resolver
writer = WriteBehind()
writer.start()
resolver = Resolver(servers=(("127.0.0.1", int(sys.argv[1])),), writer=writer)
for n in range(100_000):
    name = f"slow-10.h{n}.test"
    resolver.resolve(name)
    print(name, time.monotonic(), flush=True)
"""


@pytest.mark.django_db(transaction=True)
def test_a_crash_loses_at_most_a_second(dns_server):
    environment = {
        **os.environ,
        "DATABASE_URL": stack.test_database_url(),
        "DJANGO_SETTINGS_MODULE": "crawlsite.settings",
    }
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(dns_server.address[1])],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    learnt = {}
    with child:
        for line in child.stdout:
            name, at = line.split()
            learnt[name] = float(at)
            if float(at) - min(learnt.values()) > 2.5:
                child.kill()
                break
        killed_at = time.monotonic()

    kept = set(DnsEntry.objects.values_list("name", flat=True))
    lost = [at for name, at in learnt.items() if name not in kept]
    assert kept
    # a second for the write itself, on a busy machine
    assert all(killed_at - at < behind.WRITE_EVERY_SECONDS + 1 for at in lost)
