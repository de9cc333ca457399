"""The bank's past: every event can be gone back to, and the page says what was so then."""

from __future__ import annotations

from dataclasses import astuple
from datetime import timedelta
from itertools import pairwise
from uuid import uuid4

import pytest
from django.db.models import F
from django.urls import reverse

from allocation.errors import LedgerUnreadable, UnknownEvent
from allocation.history import checkpoints
from allocation.history.as_of import bank_as_of
from allocation.history.audit import audit_pool
from allocation.history.chart import SAMPLES, SPANS, utilisation_chart
from allocation.history.listing import (
    EventFilter,
    list_events,
    neighbours_of_event,
    next_events_by_kind,
)
from allocation.models import Event, LedgerCheckpoint, Pool, Process, UseMinute, WaitCount
from allocation.services import (
    forget_use,
    keep_checkpoints,
    keep_wait_counts,
    note_use,
    release_resources,
)
from allocation.services.use import KEPT
from tests.allocation.conftest import ask
from tests.allocation.history.histories import rewrite
from tests.crawling.page_tree import tree_of
from tests.crawling.pages import browser

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def bank(make_pool, make_process) -> Pool:
    """Eleven events: created; a, b, c registered and started (5, 2, 2 of 13); 8: c waits; b gets 1;
    a gives all back; c gets 1.
    """
    pool = make_pool(13)
    a, b, c = (
        make_process(pool, name, (most,), (held,))
        for name, most, held in (("a", 11, 5), ("b", 5, 2), ("c", 9, 2))
    )
    ask(c, (1,))
    ask(b, (1,))
    release_resources(process=a.pk, epoch=a.epoch, release_id=uuid4(), amounts=None)
    return pool


@pytest.fixture
def viewer():
    return browser("viewer")


def page(client, pool, query=""):
    answer = client.get(reverse("allocation:history", args=[pool.pk]) + query)
    assert answer.status_code == 200
    return tree_of(answer.content)


def text(element) -> str:
    return " ".join(element.get_text(" ").split())


def test_bank_as_of_each_event_is_what_the_services_left(make_pool, make_process):
    pool, seen = make_pool(12), {}
    process = make_process(pool, "a", (10,))
    for amount in (5, 2, 1):
        ask(process, (amount,))
        pool.refresh_from_db()
        process.refresh_from_db()
        seen[pool.version] = (pool.available[0], process.allocated[0])

    for version, (available, allocated) in seen.items():
        then = bank_as_of(pool.pk, version)
        assert (then.resources[0].available, then.processes[0].allocation[0]) == (
            available,
            allocated,
        )


def test_wait_is_there_from_its_event_until_it_is_served(bank):
    waited = [version for version in range(1, 12) if bank_as_of(bank.pk, version).waiting]

    assert waited == [8, 9, 10]


def test_grant_shows_its_sequence_with_the_work_each_finds(bank):
    then = bank_as_of(bank.pk, 9)

    assert [(step.label, step.need, step.work) for step in then.evidence] == [("b", (2,), (3,))]


def test_unsafe_wait_shows_who_could_have_finished(bank):
    then = bank_as_of(bank.pk, 8)

    assert then.event.verdict == "wait_unsafe"
    assert [step.label for step in then.evidence] == ["b"]


def test_event_that_is_not_there_is_told(bank):
    with pytest.raises(UnknownEvent, match="event: 99"):
        bank_as_of(bank.pk, 99)


def test_broken_ledger_is_told_and_not_shown(bank, viewer):
    rewrite("DELETE FROM allocation_event WHERE version = 5")

    with pytest.raises(LedgerUnreadable):
        bank_as_of(bank.pk)
    answer = viewer.get(reverse("allocation:history", args=[bank.pk]))
    assert (answer.status_code, b"version 5 comes next" in answer.content) == (500, True)


def test_evidence_that_proves_nothing_is_told(bank, viewer):
    rewrite("UPDATE allocation_event SET sequence = ARRAY[process_id, 999] WHERE version = 8")

    answer = viewer.get(reverse("allocation:history", args=[bank.pk]) + "?event=8")

    assert (answer.status_code, b"of this event proves nothing" in answer.content) == (500, True)


def test_checkpoints_are_kept_as_they_fall_due_and_begin_a_replay(bank, monkeypatch):
    whole = bank_as_of(bank.pk, 9)
    monkeypatch.setattr("allocation.history.checkpoints.EVERY", 4)

    assert (keep_checkpoints(), keep_checkpoints()) == (2, 0)

    # what the checkpoint holds is not read again
    rewrite("DELETE FROM allocation_event WHERE version < 8")
    assert bank_as_of(bank.pk, 9) == whole


def test_audit_proves_the_checkpoints_too(bank, monkeypatch):
    monkeypatch.setattr("allocation.history.checkpoints.EVERY", 4)
    keep_checkpoints()
    assert audit_pool(bank.pk).findings == ()

    wrong = checkpoints.saved_state(checkpoints.replayed_state(bank.pk, 4))
    LedgerCheckpoint.objects.filter(version=8).update(state=wrong)

    assert audit_pool(bank.pk).findings[0].version == 8


def test_ways_lead_through_what_the_filters_let_pass(bank):
    c = Process.objects.get(label="c")

    ways = neighbours_of_event(bank.pk, 8, EventFilter(process=c.pk, kind="granted"))

    assert (ways.first, ways.back, ways.forward, ways.last) == (7, 7, 11, 11)


def test_the_next_event_of_each_kind_is_found_in_one_query(bank, django_assert_num_queries):
    c = Process.objects.get(label="c").pk
    kinds = ["granted", "waiting", "released", "reaped"]
    later = Event.objects.filter(pool=bank, version__gt=4).order_by("version")

    for process in (0, c):
        events = later.filter(process=process) if process else later
        wanted = {
            kind: events.filter(kind=kind).values_list("version", flat=True).first()
            for kind in kinds
        }
        with django_assert_num_queries(1):
            found = next_events_by_kind(bank.pk, 4, process, kinds)
        assert found == wanted
        assert any(found.values())


def test_pages_of_the_ledger_neither_repeat_nor_leave_out(bank):
    found, before = [], None
    while True:
        rows, before = list_events(bank.pk, EventFilter(), before=before, limit=4)
        found += [row.version for row in rows]
        if before is None:
            break

    assert found == list(range(11, 0, -1))


def test_page_shows_the_bank_as_of_the_event_in_its_address(viewer, bank):
    shown = page(viewer, bank, "?event=8")

    assert text(shown.h1) == "History: event 8 of 11"
    assert "c for 1 a, since event 8" in text(shown.find(id="waits").find_parent("section"))
    assert "4 of 13" in text(shown.find("tr", class_="available"))
    assert "only these could have been sure to finish" in text(
        shown.find(id="decision").find_parent("section")
    )


@pytest.mark.slow
def test_every_event_can_be_reached_by_links_alone(viewer, bank):
    address, seen = "?event=1", []
    while address:
        shown = page(viewer, bank, address)
        seen.append(text(shown.h1))
        forward = shown.find("a", rel="next")
        address = forward and forward["href"]

    assert len(seen) == 11


def test_filters_stay_in_the_links(viewer, bank):
    shown = page(viewer, bank, "?event=8&kind=granted&span=hour")

    assert shown.find("a", rel="next")["href"] == "?event=9&kind=granted&span=hour"
    assert shown.find("option", value="granted").has_attr("selected")


@pytest.mark.parametrize(
    "query", ["?event=x&kind=nonsense&process=-1&span=week", "?event=" + "9" * 30]
)
def test_nonsense_in_the_address_shows_the_latest_event(viewer, bank, query):
    assert text(page(viewer, bank, query).h1) == "History: event 11 of 11"


def test_each_entry_of_the_events_leads_to_the_bank_as_of_then(viewer, bank):
    events = viewer.get(reverse("allocation:events", args=[bank.pk]))
    shown = tree_of(events.content)

    assert shown.find("a", href=reverse("allocation:history", args=[bank.pk]) + "?event=8")


@pytest.mark.parametrize("span", list(SPANS))
def test_chart_ends_with_what_is_so_now(bank, span):
    chart = utilisation_chart(bank.pk, span)

    assert len(chart.samples) == SAMPLES
    assert all(one.at < other.at for one, other in pairwise(chart.samples))
    assert (chart.samples[-1].reserved, chart.waiting.latest) == ((46,), 0)


def test_chart_counts_who_waited_at_each_time(bank):
    rewrite(
        "UPDATE allocation_event SET at = clock_timestamp() - make_interval(mins => 60 - 5 * "
        "version::int)"
    )

    waiting = [sample.waiting for sample in utilisation_chart(bank.pk, "all").samples]

    assert max(waiting) == 1
    assert waiting[0] == 0 == waiting[-1]


def test_a_chart_by_counts_is_that_of_the_events_alone(bank, monkeypatch):
    rewrite(
        "UPDATE allocation_event SET at = clock_timestamp() - make_interval(mins => 60 - 5 * "
        "version::int)"
    )
    before = [sample[1:] for sample in map(astuple, utilisation_chart(bank.pk, "all").samples)]
    monkeypatch.setattr("allocation.history.wait_counts.EVERY", 4)

    assert (keep_wait_counts(), keep_wait_counts()) == (2, 0)

    assert list(WaitCount.objects.values_list("version", "waiting")) == [(4, 0), (8, 1)]
    assert [astuple(sample)[1:] for sample in utilisation_chart(bank.pk, "all").samples] == before
    assert audit_pool(bank.pk).findings == ()


def test_events_before_a_count_are_not_read_again(bank, monkeypatch):
    monkeypatch.setattr("allocation.history.wait_counts.EVERY", 4)
    keep_wait_counts()
    WaitCount.objects.filter(version=8).update(waiting=7)

    assert utilisation_chart(bank.pk, "all").waiting.latest == 6  # one wait ends behind it
    assert audit_pool(bank.pk).findings[0].version == 8


def test_chart_of_an_hour_begins_with_what_was_so_before(bank):
    rewrite(
        "UPDATE allocation_event SET at = clock_timestamp() - interval '2 hours' WHERE version < 9"
    )

    first = utilisation_chart(bank.pk, "hour").samples[0]

    assert (first.reserved, first.waiting) == ((69,), 1)


def test_what_was_used_stands_beside_what_was_reserved(viewer, bank):
    """Two samples of a minute, one of another: 13 units, of which 1 and 5, then 13 are used."""
    rewrite("UPDATE allocation_event SET at = at - interval '20 minutes'")
    for used in (1, 5):
        note_use({bank.pk: {"a": used, "elsewhere": 9}})
    UseMinute.objects.update(minute=F("minute") - timedelta(minutes=10))
    note_use({bank.pk: {"a": 13}})
    note_use({bank.pk + 1: {"a": 13}})

    [line] = utilisation_chart(bank.pk, "hour").classes
    html = page(viewer, bank, "?span=hour")
    csv = b"".join(viewer.get(reverse("allocation:numbers", args=[bank.pk])))

    assert (line.used.first, line.used.latest, line.used.most) == (24, 100, 100)
    assert "used: 100 % , at most 100 %" in text(html.select_one("figure.chart figcaption"))
    [figure, _] = html.select("figure.chart")
    assert figure["data-columns"] == "0 1"
    used = [row.select("data")[1]["value"] for row in html.select("#samples tbody tr")]
    assert (used[-1], set(used)) == ("100", {"", "24", "100"})
    assert b'"a reserved, %","a used, %",waiting requests' in csv


def test_a_class_without_samples_has_no_line_of_use(viewer, bank):
    note_use({bank.pk: {"elsewhere": 9}})

    [line] = utilisation_chart(bank.pk, "hour").classes

    assert line.used is None
    assert "used" not in text(page(viewer, bank).select_one("figure.chart figcaption"))


def test_use_is_forgotten_after_a_month(bank):
    note_use({bank.pk: {"a": 1}})
    UseMinute.objects.update(minute=F("minute") - KEPT)
    note_use({bank.pk: {"a": 2}})

    assert forget_use() == 1
    assert UseMinute.objects.get().used == [2]
