"""An error has an ID to quote, and the log's lines about it have the same."""

from __future__ import annotations

import json
import logging

import pytest
from django.db import DatabaseError

from crawlsite.logs import logging_setting
from crawlsite.middleware.request_ids import HEADER, current_request_id


def log_line() -> str:
    """A line of the log as it is written now."""
    options = dict(logging_setting(level="INFO", style="json")["formatters"]["line"])
    record = logging.LogRecord("crawlsite", logging.ERROR, __file__, 1, "noticed", None, None)
    return options.pop("()")(**options).format(record)


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def broken(monkeypatch, client, admin_user, lines):
    """A client of a site whose list of crawls cannot be read; `lines` of its log are written
    meanwhile.
    """

    def fail(*args, **options):
        lines.append(log_line())
        raise DatabaseError("disk on fire")

    monkeypatch.setattr("crawling.dashboard.crawls.views.list_crawls", fail)
    monkeypatch.setattr("crawling.dashboard.crawls.api.crawls_and_next", fail)
    client.force_login(admin_user)
    client.raise_request_exception = False
    return client


def test_the_page_of_a_fault_says_what_to_quote(broken, lines):
    answer = broken.get("/crawls/")

    assert (answer.status_code, len(answer[HEADER])) == (500, 12)
    assert f"<code>{answer[HEADER]}</code>" in answer.content.decode()
    assert "disk on fire" not in answer.content.decode()
    assert [json.loads(line)["request_id"] for line in lines] == [answer[HEADER]]


def test_json_of_a_fault_says_what_to_quote(broken):
    answer = broken.get("/api/v1/crawls")

    assert (answer.status_code, answer.json()["request_id"]) == (500, answer[HEADER])
    assert answer[HEADER] in answer.json()["detail"]


def test_each_request_has_its_own_id_and_nobody_else_has_one(client):
    first, second = client.get("/healthz", headers={HEADER: "mine"}), client.get("/healthz")

    assert len({first[HEADER], second[HEADER], "mine"}) == 3
    assert current_request_id() == ""
    assert "request_id" not in json.loads(log_line())
