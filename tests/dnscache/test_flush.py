import time
from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.urls import reverse

from dnscache import resolver, services, store
from dnscache.models import DnsEntry, DnsFlush
from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply
from dnscache.resolver import AnswerSource

pytestmark = pytest.mark.django_db
CHANGELIST = "admin:dnscache_dnsentry_changelist"


def test_a_flushed_name_is_asked_for_again(dns_server):
    resolver.resolve_many(["a.test", "b.test"], parallel=2, deadline=5)

    assert services.flush_names(["a.test", "unknown.test"]) == 1

    assert resolver.resolve("a.test").source is AnswerSource.LOOKUP
    assert resolver.resolve("b.test").source is AnswerSource.MEMORY


def test_the_admin_site_shows_the_cache_and_flushes_it(admin_client, dns_server):
    resolver.resolve("private-10-0-0-1.test")
    page = admin_client.get(reverse(CHANGELIST)).content.decode()
    assert "private-10-0-0-1.test" in page
    assert "10.0.0.1" in page

    admin_client.post(
        reverse(CHANGELIST), {"action": "flush", "_selected_action": ["private-10-0-0-1.test"]}
    )

    assert not DnsEntry.objects.exists()
    assert resolver.resolve("private-10-0-0-1.test").source is AnswerSource.LOOKUP


@pytest.mark.parametrize("page", ["add", "delete"])
def test_nobody_writes_an_answer_by_hand(admin_client, dns_server, page):
    resolver.resolve("a.test")
    arguments = [] if page == "add" else ["a.test"]

    assert (
        admin_client.post(reverse(f"admin:dnscache_dnsentry_{page}", args=arguments)).status_code
        == 403
    )
    assert DnsEntry.objects.count() == 1


def test_a_flush_reaches_what_another_worker_remembers_within_a_second(
    make_resolver, dns_server, clock
):
    """The other worker is another resolver with a memory of its own; nothing but rows connects the
    two.
    """
    other = make_resolver()
    other.resolve_many(["a.test", "b.test"], parallel=2, deadline=5)

    services.flush_names(["a.test"])
    clock.advance(1)

    assert other.resolve("a.test").source is AnswerSource.LOOKUP
    assert other.resolve("b.test").source is AnswerSource.MEMORY


@pytest.mark.parametrize(
    ("flush", "gone"),
    [
        (lambda: services.flush_domain("shop.test"), {"shop.test", "a.shop.test"}),
        (services.flush_reverse_region, {"nx.other.test"}),
        (services.flush_all, {"shop.test", "a.shop.test", "workshop.test", "nx.other.test"}),
    ],
)
def test_many_names_are_flushed_at_once_everywhere(make_resolver, dns_server, clock, flush, gone):
    names = {"shop.test", "a.shop.test", "workshop.test", "nx.other.test"}
    here, other = resolver, make_resolver()
    for worker in (here, other):
        worker.resolve_many(names, parallel=4, deadline=5)

    assert flush() == len(gone)
    clock.advance(1)

    for worker in (other, here):
        found = worker.resolve_many(names, parallel=4, deadline=5)
        assert {name for name in names if found[name].source is not AnswerSource.MEMORY} == gone


def test_a_flush_is_heeded_once(make_resolver, dns_server, clock):
    other = make_resolver()
    other.resolve("a.test")
    services.flush_names(["a.test"])
    clock.advance(1)
    other.resolve("a.test")
    clock.advance(1)

    assert other.resolve("a.test").source is AnswerSource.MEMORY


def test_a_flush_that_becomes_visible_late_is_heeded_too(make_resolver, dns_server, clock):
    other = make_resolver()
    other.resolve("a.test")
    clock.advance(2)
    other.resolve("a.test")

    DnsFlush.objects.create(
        scope=DnsFlush.Scope.NAME, value="a.test", at=Now() - timedelta(seconds=20)
    )
    DnsEntry.objects.all().delete()
    clock.advance(1)

    assert other.resolve("a.test").source is AnswerSource.LOOKUP


def test_an_answer_from_before_the_flush_is_not_written_after_it():
    def answer(at):
        return DnsAnswer(
            "late.test",
            Reply(DnsStatus.OK, ("192.0.2.1",), ttl=60),
            resolved_at=at,
            expires_at=at + 60,
        )

    before = time.time() - 5
    services.flush_names(["late.test"])

    store.write_answers([answer(before)])
    assert store.read_answers(["late.test"]) == {}
    store.write_answers([answer(time.time() + 5)])
    assert store.read_answers(["late.test"])
