"""Pages and programs read a live cache: its own table 1, trees and conflict area."""

import time

import pytest
from django.urls import reverse

from dnscache import cache_reads, store
from dnscache.models import DnsEntry
from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply
from dnscache.selectors import domain_tree, registered_names
from tests.crawling.pages import browser, soup
from tests.dnscache.live_cache import live_cache

pytestmark = pytest.mark.django_db
NAMES = (
    "example.com",
    "www.example.com",
    "a.www.example.com",
    "b.c.img.example.com",
    "other.com",
)


def know(*names, ms=10):
    now = time.time()
    reply = Reply(DnsStatus.OK, ("192.0.2.1",), "", 0, 300, ms, "192.0.2.53:53")
    store.write_answers([DnsAnswer(name, reply, now, now + 300) for name in names])


def branches(first, **options):
    return [
        (branch.name, branch.entry is not None, [leaf.name for leaf in branch.below])
        for branch in domain_tree(first, **options).branches
    ]


def test_the_tree_is_that_of_the_cache_and_not_of_the_rows():
    know(*NAMES)
    know("slow.example.com", ms=900)
    with live_cache():
        DnsEntry.objects.all().delete()

        assert branches("example.com") == [
            ("example.com", True, []),
            ("img.example.com", False, ["b.c.img.example.com"]),
            ("www.example.com", True, ["a.www.example.com"]),
        ]
        assert [leaf.name for leaf in domain_tree("example.com").reverse] == ["slow.example.com"]


def test_a_name_that_is_used_or_forgotten_is_so_in_the_next_answer():
    know(*NAMES)
    with live_cache() as memory:
        used = domain_tree("other.com").branches[0].entry.last_access.timestamp()
        memory.serve("www.other.com", time.time())
        memory.serve("other.com", time.time() + 60)
        memory.forget(["example.com"])

        assert domain_tree("other.com").branches[0].entry.last_access.timestamp() >= used + 50
        assert branches("example.com")[0][0] == "img.example.com"


def test_table_1_is_listed_page_by_page():
    know(*NAMES, "xample.org")
    with live_cache():
        first = registered_names(most=1)
        assert [(one.registrable, one.names) for one in first.domains] == [("example.com", 4)]
        rest = registered_names(after="example.com", text="o", most=9).domains
        assert [one.registrable for one in rest] == ["other.com", "xample.org"]


def test_each_machine_has_its_own_cache(client):
    know("one.com")
    with live_cache("m1"):
        know("two.com")
        with live_cache("m2"):
            found = registered_names()
            assert (found.machine, found.machines) == ("m1", ["m1", "m2"])
            assert [one.registrable for one in found.domains] == ["one.com"]
            assert branches("two.com", machine="m2") == [("two.com", True, [])]

            page = browser("viewer").get(reverse("dnscache:overview"), {"machine": "m2"})
            assert "two.com" in soup(page).main.get_text()


def test_a_domain_with_very_many_names_is_cut_and_says_so(monkeypatch):
    monkeypatch.setattr(cache_reads, "MOST_NAMES", 3)
    know(*NAMES, *[f"{n}.www.example.com" for n in range(5)])
    know(*[f"slow{n}.example.com" for n in range(4)], ms=900)
    with live_cache():
        told = domain_tree("example.com")

        assert sum(1 + len(branch.below) for branch in told.branches) == 3
        assert (len(told.reverse), told.not_shown) == (3, 10 - 3 + 1)


def test_without_a_pre_resolver_nothing_is_shown_and_the_page_says_why():
    know(*NAMES)

    assert registered_names().machine is None
    viewer = browser("viewer")
    assert "not running" in soup(viewer.get("/dns/")).main.get_text()
    assert viewer.get("/api/v1/dns/domains/example.com").json() == {
        "machine": None,
        "machines": [],
        "branches": [],
        "reverse": [],
        "not_shown": 0,
    }


def test_a_cache_that_answers_nothing_holds_a_page_up_for_a_moment_only(monkeypatch):
    monkeypatch.setattr(cache_reads, "PATIENCE_SECONDS", 0.2)
    redis = cache_reads._redis()
    with redis.pubsub() as mute:
        mute.subscribe(cache_reads._channel(redis))
        mute.get_message(timeout=5)
        begun = time.monotonic()
        assert registered_names().machine is None
        assert time.monotonic() - begun < 20  # it never answers
