"""Operators see the cache and act on it, in the browser and by JSON."""

import csv
import io
import json
import time
from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse
from django.utils import timezone

from dnscache import name_servers, store
from dnscache.answer_cache import AnswerCache
from dnscache.lookup import ExchangeOutcome
from dnscache.lookup_counter import LookupCounter, keep_history
from dnscache.models import DnsDropped, DnsEntry, DnsMinute, DnsPin
from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply
from dnscache.regions.entry import Region
from dnscache.regions.space import EvictedAnswer, EvictionReason
from dnscache.resolution import AnswerSource, Resolution
from dnscache.selectors import SORTS, cache_overview, failing_names
from dnscache.templatetags.dns import threads
from tests.crawling.pages import browser, soup
from tests.dnscache.live_cache import live_cache

pytestmark = pytest.mark.django_db


def know(name, status=DnsStatus.OK, ms=10, fails=0):
    now = time.time()
    addresses = ("192.0.2.1",) if status is DnsStatus.OK else ()
    reply = Reply(
        status,
        addresses,
        name,
        0,
        300 if status is DnsStatus.OK else 0,
        ms,
        "192.0.2.53:53",
        "=boom" if fails else "",
    )
    store.write_answers(
        [DnsAnswer(name, reply, now, now + 300, now + 40 if fails else None, fails)]
    )


def used(source=AnswerSource.DATABASE, *, stale=False):
    return Resolution("a.test", DnsStatus.OK, ("192.0.2.1",), 300, 0, source, 0, stale=stale)


def test_counts_of_all_processes_add_up_by_the_minute():
    one, other = LookupCounter(), LookupCounter()
    for tally in (one, other):
        for _ in range(49):
            tally.note(used(), 0.0)
        tally.note(used(AnswerSource.LOOKUP, stale=True), 0.2)
        tally.note_look_ups({"queued": 3, "cut": 1, "timeout": 2, "ok": 1})
        tally.note_look_ups({"queued": 4, "cut": 1, "timeout": 2, "ok": 2})
        tally.store_counts()
        tally.store_counts()

    told = cache_overview()

    assert (told.used, told.asked, told.answered, told.failed, told.cut) == (100, 8, 4, 4, 2)
    assert told.shares == {"memory": 0.0, "database": 0.98, "lookup": 0.02, "stale": 0.02}
    assert told.wait_ms == {"mean": pytest.approx(4), "p50": 1, "p95": 1, "p99": 300}
    assert sum(DnsMinute.objects.get().waits) == 100 or DnsMinute.objects.count() == 2


def test_name_servers_that_answer_nothing_are_told_of_until_they_answer():
    tally = LookupCounter()
    tally.note_look_ups({"queued": 9, "cut": 2, "timeout": 1})
    tally.store_counts()
    assert not cache_overview().is_silent  # these few may be dead names
    tally.note_look_ups({"queued": 9, "cut": 3, "timeout": 1})
    tally.store_counts()
    assert cache_overview().is_silent
    assert (
        "No name server has answered in the last two minutes"
        in soup(browser("viewer").get(reverse("dnscache:overview"))).main.get_text()
    )

    tally.note_look_ups({"queued": 9, "cut": 3, "timeout": 1, "nxdomain": 1})
    tally.store_counts()

    assert not cache_overview().is_silent


@pytest.mark.parametrize(
    ("weight", "shown"), [(0, "0.0"), (0.0000461, "< 0.01"), (0.5, "0.50"), (1234.5, "1,234.5")]
)
def test_a_number_of_threads_is_never_shown_with_more_digits_than_it_has_meaning(weight, shown):
    assert threads(weight) == shown


@pytest.mark.parametrize(
    ("begun", "hosts"), [(timedelta(days=1), 0.5), (timedelta(minutes=30), 1.0)]
)
def test_hosts_waiting_are_told_over_the_hour_with_its_idle_minutes(begun, hosts):
    empty = {
        **dict.fromkeys(("memory", "database", "lookup", "stale", "asked", "failed", "cut"), 0),
        "waits": [0] * 8,
    }
    now = timezone.now()
    DnsMinute.objects.create(minute=now - begun, waited_seconds=0, **empty)
    DnsMinute.objects.create(minute=now - timedelta(minutes=3), waited_seconds=1800, **empty)

    assert cache_overview().hosts_waiting == pytest.approx(hosts, rel=0.01)


def test_the_conflict_area_says_why_and_shows_the_heaviest_first():
    know("slow.test", ms=4000)
    know("sf.test", DnsStatus.SERVFAIL, ms=100, fails=5)
    know("quick.test")
    DnsEntry.objects.filter(name="sf.test").update(weight=9)

    rows = failing_names()

    assert [(row.entry.name, row.reason, row.tries_left) for row in rows] == [
        ("sf.test", "the name server failed", 0),
        ("slow.test", "slow", 5),
    ]


def test_page_after_page_shows_every_hard_name_once_by_whatever_it_is_sorted():
    for number in range(4):
        know(f"n{number}.test", DnsStatus.SERVFAIL, ms=100 * (number % 2), fails=1 + number % 2)
    for name in ("slow.test", "late.test"):  # never asked again by themselves
        know(name, ms=4000)
    for sort in SORTS:
        every, after, found = [row.entry.name for row in failing_names(sort=sort)], "", []

        while page := failing_names(sort=sort, after=after, most=2):
            found += [row.entry.name for row in page]
            after = found[-1]

        assert (found, len(found)) == (every, 6)


def test_what_leaves_is_written_down_once():
    memory = AnswerCache(10)
    memory.dropped = [EvictedAnswer("a.test", Region.REVERSE, 0.5, EvictionReason.FULL)]

    keep_history(memory)
    keep_history(memory)

    assert [(row.name, row.why) for row in DnsDropped.objects.all()] == [
        ("a.test", "the cache was full")
    ]


def test_the_page_has_figures_a_tree_and_one_list():
    know("www.example.com")
    know("sf.test", DnsStatus.SERVFAIL, fails=1)
    DnsDropped.objects.create(name="old.test", region=2, weight=0.1, why="x")
    name_servers.exchanges.note(("192.0.2.53", 53), ExchangeOutcome.ANSWERED, 20, is_paid=True)
    name_servers.write_questions()
    viewer, page = browser("viewer"), reverse("dnscache:overview")

    with live_cache():
        shown = soup(viewer.get(page)).main
        tree = soup(viewer.get(page, {"domain": "example.com"})).main
    evicted = soup(viewer.get(page, {"status": "evicted", "q": "old"})).main

    assert "192.0.2.53:53" in shown.select_one("#live").get_text()
    assert shown.select_one("section[aria-labelledby=tree] tbody th").text == "example.com"
    assert shown.select_one("section[aria-labelledby=names] tbody th").text == "sf.test"
    assert tree.select("section[aria-labelledby=tree] tbody th")[-1].text == "www.example.com"
    assert evicted.select_one("section[aria-labelledby=names] tbody th").text == "old.test"


def test_an_operator_retries_and_pins_and_it_is_written_down():
    know("sf.test", DnsStatus.SERVFAIL, fails=1)
    operator = browser("operator")

    for deed in ("pin", "retry"):
        answer = operator.post(
            reverse("dnscache:act", args=[deed]),
            {"name": "SF.test", "next": "/dns/?q=sf"},
        )
        assert answer.url == "/dns/?q=sf"

    assert DnsPin.objects.filter(name="sf.test").exists()
    assert not DnsEntry.objects.exists()
    assert set(LogEntry.objects.values_list("object_id", "change_message")) == {
        ("sf.test", "pin"),
        ("sf.test", "retry"),
    }
    assert (
        "Give the name"
        in soup(
            operator.post(reverse("dnscache:act", args=["pin"]), {"name": "127.0.0.1"}, follow=True)
        ).main.get_text()
    )


def test_an_administrator_flushes_a_domain_and_nothing_else():
    for name in ("www.example.com", "other.com"):
        know(name)
    administrator = browser("administrator")

    administrator.post(reverse("dnscache:flush"), {"scope": "domain", "value": "b.Example.com"})
    told = administrator.post(reverse("dnscache:flush"), {"scope": "nonsense"}, follow=True)

    assert list(DnsEntry.objects.values_list("name", flat=True)) == ["other.com"]
    assert "none of all, reverse and domain" in soup(told).main.get_text()


@pytest.mark.parametrize("kind", ["csv", "json", "txt"])
def test_the_cache_is_exported_whole(kind):
    know("a.test")
    know("sf.test", DnsStatus.SERVFAIL, fails=1)

    text = b"".join(browser("viewer").get(reverse("dnscache:export", args=[kind]))).decode()

    if kind == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [(row["name"], row["addresses"], row["error"]) for row in rows] == [
            ("a.test", "192.0.2.1", ""),
            ("sf.test", "", "'=boom"),
        ]
    elif kind == "json":
        assert [row["name"] for row in json.loads(text)] == ["a.test", "sf.test"]
    else:
        assert text == "a.test. 300 IN A 192.0.2.1\n; sf.test. servfail =boom\n"
