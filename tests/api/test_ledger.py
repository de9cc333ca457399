"""The ledger, and the bank as of any event, for programs."""

from __future__ import annotations

import pytest

from allocation.models import Pool
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run


@pytest.fixture
def bank(order) -> Pool:
    for name, port in (("holder", 8901), ("waiter", 8902)):
        start_run(
            create_crawl(order(f"http://127.0.0.1:{port}/", name=name, claim={"bandwidth": 60_000}))
        )
    return Pool.objects.get()


def test_events_come_newest_first_in_pages_that_leave_nothing_out(operator, bank):
    found, cursor = [], ""
    while True:
        page = operator.get(f"pools/{bank.pk}/events?limit=2{cursor}")
        found += [event["version"] for event in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"

    assert found == list(range(bank.version, 0, -1))


def test_events_are_chosen_by_kind_and_process(operator, bank):
    (wait,) = operator.get(f"pools/{bank.pk}/events?kind=waiting")["items"]

    assert (wait["name"], wait["verdict"], wait["available_before"]) == (
        "waiter",
        "wait_unavailable",
        wait["available_after"],
    )
    own = operator.get(f"pools/{bank.pk}/events?process={wait['process']}")["items"]
    assert [event["kind"] for event in own] == ["waiting", "registered"]


def test_bank_as_of_an_event_shows_matrices_decision_and_waits(operator, bank):
    (granted,) = operator.get(f"pools/{bank.pk}/events?kind=granted")["items"]
    (wait,) = operator.get(f"pools/{bank.pk}/events?kind=waiting")["items"]

    before = operator.get(f"pools/{bank.pk}/versions/{granted['version']}")
    after = operator.get(f"pools/{bank.pk}/versions/{wait['version']}")

    assert (before["waiting"], before["steps"]) == (
        [],
        [{"process": granted["process"], "work": before["available"]}],
    )
    assert before["processes"][0]["allocation"] == granted["amounts"]
    assert after["waiting"][0]["request"] == wait["request"]
    assert after["safe_sequence"] == [granted["process"]]


@pytest.mark.parametrize(
    "path", ["pools/{}/versions/99999", "pools/99999/versions/1", "pools/99999/events"]
)
def test_what_is_not_there_is_told(operator, bank, path):
    status, body = operator("GET", path.format(bank.pk))

    assert (status, list(body)) == (404, ["detail"])
