"""A program may ask so often; beyond that it is told when to come back, whichever web process it
asks.
"""

from __future__ import annotations

import subprocess
import sys

import pytest
from django.conf import settings as project_settings
from django.core.cache import cache

from crawlsite.api import auth as limiting
from serving import visitors
from tests.api.conftest import Program


@pytest.fixture
def three_a_minute(settings, monkeypatch):
    """And a clock that does not turn a minute while the test counts."""
    settings.API_REQUESTS_A_MINUTE = 3
    monkeypatch.setattr(visitors, "time", lambda: 1_000_000_030.0)
    cache.clear()


def test_who_asks_too_often_is_told_when_to_come_back_and_others_are_served(
    three_a_minute, programs, monkeypatch
):
    assert [programs["viewer"]("GET", "pools")[0] for _ in range(4)] == [200, 200, 200, 429]
    answer = programs["viewer"].client.get("/api/v1/pools", headers=programs["viewer"].headers)
    assert answer.headers["Retry-After"] == "50"
    assert "ask again in 50 s" in answer.json()["detail"]
    assert programs["operator"]("GET", "pools")[0] == 200

    monkeypatch.setattr(visitors, "time", lambda: 1_000_000_080.0)
    assert programs["viewer"]("GET", "pools")[0] == 200


def test_a_session_is_counted_by_its_user(three_a_minute, people):
    browser = Program()
    browser.client.force_login(people["viewer"])

    assert [browser("GET", "pools")[0] for _ in range(4)] == [200, 200, 200, 429]


def test_another_spelling_of_the_header_is_no_other_program(three_a_minute, programs, people):
    token = programs["viewer"].headers["Authorization"].removeprefix("Bearer ")
    spelt = [
        Program()("GET", "pools", Authorization=f"{scheme} {token}")[0]
        for scheme in ("Bearer", "bearer", "BEARER", "bEaRer")
    ]
    assert spelt == [200, 200, 200, 429]

    browser = Program()
    browser.client.force_login(people["viewer"])
    assert [browser("GET", "pools", Authorization=f"Basic {n}")[0] for n in range(4)] == [
        200,
        200,
        200,
        429,
    ]


def test_guesses_at_the_metrics_are_told_to_wait(three_a_minute, db, client, monkeypatch):
    monkeypatch.setattr(limiting, "WRONG_TOKENS", 2)

    answers = [
        client.get("/metrics", headers={"Authorization": f"Bearer guess{number}"})
        for number in range(3)
    ]
    assert [(answer.status_code, answer.get("Retry-After")) for answer in answers] == [
        (401, None),
        (401, None),
        (429, "50"),
    ]


def test_guesses_of_tokens_are_counted_by_address(three_a_minute, programs, monkeypatch):
    monkeypatch.setattr(limiting, "WRONG_TOKENS", 2)

    assert [Program(f"guess {number}")("GET", "pools")[0] for number in range(3)] == [401, 401, 429]
    assert programs["viewer"]("GET", "pools")[0] == 200


def test_another_process_counts_on(three_a_minute):
    """The count of this process holds in the next."""
    here = [visitors.count_request("token/one") for _ in range(2)]
    code = (
        "import django; django.setup(); from serving import visitors; "
        "visitors.time = lambda: 1_000_000_030.0; print(visitors.count_request('token/one'))"
    )
    there = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project_settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )

    assert [*here, int(there.stdout)] == [1, 2, 3]


def test_without_redis_nobody_is_kept_out(three_a_minute, programs, settings):
    settings.CACHES = {
        "default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}
    }

    assert [programs["viewer"]("GET", "pools")[0] for _ in range(4)] == [200] * 4
