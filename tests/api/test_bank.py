"""Pools, their limits, questions to the algorithm, and the DNS cache."""

from __future__ import annotations

import json
import time

import pytest
from django.contrib.admin.models import LogEntry

from allocation.models import Pool
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.start import start_run
from dnscache import store
from dnscache.protocol.answers import DnsAnswer, DnsStatus, Reply

TEXTBOOK = {
    "available": [3, 3, 2],
    "maximum": [[7, 5, 3], [3, 2, 2], [9, 0, 2], [2, 2, 2], [4, 3, 3]],
    "allocation": [[0, 1, 0], [2, 0, 0], [3, 0, 2], [2, 1, 1], [0, 0, 2]],
}


@pytest.fixture
def two_that_share_too_little(order):
    for name, port in (("holder", 8901), ("waiter", 8902)):
        start_run(
            create_crawl(order(f"http://127.0.0.1:{port}/", name=name, claim={"bandwidth": 60_000}))
        )


def test_a_pool_shows_its_matrices_the_proof_and_why_somebody_waits(
    operator, two_that_share_too_little
):
    (pool,) = operator.get("pools")["items"]
    assert pool["capacity"] == [4, 64, 100_000, 512, 64, 8]

    bank = operator.get(f"pools/{pool['id']}")

    holder, waiter = bank["processes"]
    assert [one["key"] for one in bank["resources"]] == [
        "worker",
        "fetch_slots",
        "bandwidth",
        "memory",
        "dns_slots",
        "archive_writers",
    ]
    assert (holder["name"], holder["state"], holder["allocation"][2], holder["need"][1]) == (
        "holder",
        "holding",
        60_000,
        13,  # of the usual 14 slots
    )
    assert bank["available"][2] == 40_000
    assert (bank["is_safe"], bank["safe_sequence"]) == (True, [holder["id"], waiter["id"]])
    assert bank["steps"][0] == {"process": holder["id"], "work": bank["available"]}
    (wait,) = bank["waiting"]
    assert (wait["process"], wait["verdict"], wait["blockers"][0]["name"]) == (
        waiter["id"],
        "wait_unavailable",
        "holder",
    )
    assert "(39.1 of 97.7 MB/s free)" in wait["reason"]


def test_more_capacity_serves_those_who_wait_and_is_audited(
    administrator, two_that_share_too_little
):
    pool = Pool.objects.get()

    status, bank = administrator("PATCH", f"pools/{pool.pk}", {"capacity": {"bandwidth": 120_000}})

    assert (status, bank["waiting"], bank["capacity"][2]) == (200, [], 120_000)
    entry = LogEntry.objects.order_by("-pk").first()
    assert (entry.user.username, entry.object_repr) == ("administrator", "default")
    assert json.loads(entry.change_message)["changes"] == {"bandwidth": [100_000, 120_000]}


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ({"capacity": {"bandwidth": 10}}, 409, "More units than this are in use"),
        ({"capacity": {"gold": 10}}, 422, "The pool has no such resource class"),
        ({"capacity": {"bandwidth": -1}}, 422, "must be 0 or more"),
        ({"capacity": {"bandwidth": True}}, 422, "must be a whole number"),
        ({"capacity": {}}, 422, "capacity"),
        ({"available": {"bandwidth": 10}}, 422, "available"),
        ({}, 422, "is required"),
    ],
)
def test_limits_that_cannot_be_are_refused_with_the_sentence(
    administrator, two_that_share_too_little, body, status, sentence
):
    told, problem = administrator("PATCH", f"pools/{Pool.objects.get().pk}", body)

    assert told == status
    assert sentence in problem["detail"]
    assert Pool.objects.get().capacity[2] == 100_000
    assert not LogEntry.objects.filter(object_repr="default").exists()


@pytest.mark.parametrize(
    ("process", "request_", "verdict", "is_safe"),
    [
        (1, [1, 0, 2], "grant", True),
        (4, [3, 3, 0], "wait_unsafe", False),
        (0, [4, 0, 0], "wait_unavailable", True),
        (1, [9, 0, 0], "exceeds_need", True),
    ],
)
def test_the_algorithm_answers_for_a_state_that_somebody_made_up(
    operator, process, request_, verdict, is_safe
):
    status, answer = operator(
        "POST", "banker/check", {**TEXTBOOK, "process": process, "request": request_}
    )

    assert (status, answer["verdict"], answer["is_safe"]) == (200, verdict, is_safe)
    assert (answer["safe_sequence"] is not None) == (answer["steps"] is not None) == is_safe
    assert answer["reason"]


def test_without_a_request_the_state_itself_is_judged(operator):
    _, safe = operator("POST", "banker/check", TEXTBOOK)
    _, unsafe = operator("POST", "banker/check", {**TEXTBOOK, "available": [0, 0, 0]})

    assert (safe["verdict"], safe["safe_sequence"]) == (None, [1, 3, 4, 0, 2])
    assert safe["steps"][1] == {"process": 3, "work": [5, 3, 2]}
    assert (unsafe["is_safe"], unsafe["safe_sequence"]) == (False, None)
    assert unsafe["reason"] == (
        "Unsafe: P0 claims 5 R1 of 2 that there are, P2 claims 9 R0 of 7 that there are and P4 "
        "claims 3 R1 of 2 that there are. Lower the claim or raise the capacity. P1 and P3 could "
        "wait forever for what they hold."
    )


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"allocation": [[0, 1, 0]]}, "maximum has 5 rows, allocation has 1"),
        ({"available": [3, 3]}, "there are 2 classes"),
        ({"allocation": [[8, 1, 0], *TEXTBOOK["allocation"][1:]]}, "process 0 holds"),
        ({"process": 1}, "go together"),
        ({"process": 5, "request": [0, 0, 0]}, "there is no process 5"),
        ({"process": 1, "request": [0]}, "request has 1 entries"),
        ({"available": [-1, 3, 2]}, "0 or more"),
        ({"available": [1.5, 3, 2]}, "whole number"),
        ({"available": [1] * 51}, "at most 50"),
        ({"maximum": [[0, 0, 0]] * 1001}, "at most 1000"),
        ({"maximum": None}, "must be a list"),
    ],
)
def test_a_state_that_makes_no_sense_is_refused_in_a_sentence(operator, change, sentence):
    status, problem = operator("POST", "banker/check", {**TEXTBOOK, **change})

    assert status == 422
    assert sentence in problem["detail"]


def test_the_largest_and_worst_question_is_answered_in_time(operator):
    """Only the last process can finish, then the one before it, and so on: a pass for each."""
    n, m = 1000, 50
    question = {
        "available": [1] * m,
        "maximum": [[n - i + 1] * (m - 1) + [1] for i in range(n)][::1],
        "allocation": [[1] * (m - 1) + [0]] * n,
    }

    began = time.monotonic()
    status, answer = operator("POST", "banker/check", question)

    assert (status, answer["is_safe"], answer["safe_sequence"][0]) == (200, True, n - 1)
    assert time.monotonic() - began < 30


@pytest.fixture
def names(db):
    now = time.time()
    reply = Reply(DnsStatus.OK, ("192.0.2.1",), "", 0, 300, 5, "192.0.2.53", "")
    store.write_answers(
        [DnsAnswer(name, reply, now, now + 300, None, 0) for name in ("a.test", "b.test", "c.test")]
    )


def test_the_cache_is_listed_by_pages_and_filters(operator, names):
    first = operator.get("dns/names?limit=2")

    assert [entry["name"] for entry in first["items"]] == ["a.test", "b.test"]
    assert [
        entry["name"] for entry in operator.get(f"dns/names?cursor={first['next']}")["items"]
    ] == ["c.test"]
    assert [entry["name"] for entry in operator.get("dns/names?q=b.")["items"]] == ["b.test"]
    assert operator.get("dns/names?status=timeout")["items"] == []


def test_a_name_is_shown_in_any_spelling_and_flushed_by_administrators(
    operator, administrator, names
):
    assert operator.get("dns/names/A.TEST.")["addresses"] == ["192.0.2.1"]
    assert operator("DELETE", "dns/names/a.test")[0] == 403

    assert administrator("DELETE", "dns/names/A.test") == (204, None)
    assert operator("GET", "dns/names/a.test") == (404, {"detail": "a.test is not in the cache."})
    assert LogEntry.objects.get().object_repr == "a.test"
    assert operator("GET", "dns/names/-..-")[0] == 422
    assert operator("GET", "dns/names/localhost")[0] == 422
