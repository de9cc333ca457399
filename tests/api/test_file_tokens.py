"""A program's token opens the files of pages, no page, and counts for its limit."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import get_resolver

from crawling.runs.crawls.creation import create_crawl
from crawlsite.api.auth import WRONG_TOKENS
from crawlsite.tokens import make_token
from tests.crawling.conftest import allowed_loopback, the_pool
from tests.crawling.pages import browser


@pytest.fixture
def program(db):
    """A function that asks with the token of a user of a role, or with another token."""
    cache.clear()

    def client(role="viewer", *, token=""):
        browser(role)
        token = token or make_token(User.objects.get(username=role), "program")
        return Client(headers={"Authorization": f"Bearer {token}"})

    return client


def test_a_token_opens_a_file_and_no_page(program):
    the_pool()
    allowed_loopback()
    create_crawl({"name": "Library", "seeds": ["http://127.0.0.1:8900/"]})
    viewer = program()

    listed = viewer.get("/crawls/list.csv")

    assert (listed.status_code, listed["Content-Type"]) == (200, "text/csv; charset=utf-8")
    assert b"Library" in b"".join(listed.streaming_content)
    assert viewer.get("/crawls/").status_code == 302
    assert viewer.post("/crawls/list.csv").status_code in (302, 405)
    assert viewer.get("/crawls/12345/pages.csv").status_code == 404
    assert "sessionid" not in listed.cookies


def test_a_token_opens_what_its_user_may_see_and_no_more(program):
    nobody = program()
    User.objects.get(username="viewer").groups.clear()

    assert nobody.get("/crawls/list.csv").status_code == 403


def test_a_wrong_token_is_refused_as_by_the_api_even_beside_a_session(program):
    wrong = program(token="crawlsite_wrong")
    wrong.force_login(User.objects.get(username="viewer"))

    answers = [wrong.get("/crawls/list.csv") for _ in range(WRONG_TOKENS + 1)]

    assert {answer.status_code for answer in answers[:-1]} == {401}
    assert answers[0]["WWW-Authenticate"] == "Bearer"
    assert "not known or has expired" in answers[0].json()["detail"]
    assert answers[-1].status_code == 429
    assert Client().get("/crawls/list.csv").status_code == 302


def test_files_count_for_the_limit_of_requests(program, settings):
    settings.API_REQUESTS_A_MINUTE = 2
    viewer = program()

    answers = [viewer.get(path) for path in ("/crawls/list.csv", "/api/v1/crawls")]
    refused = viewer.get("/crawls/list.jsonl")

    assert [answer.status_code for answer in answers] == [200, 200]
    assert (refused.status_code, "Too many requests" in refused.json()["detail"]) == (429, True)
    assert 0 < int(refused["Retry-After"]) <= 60


def test_other_schemes_of_log_in_change_nothing(db):
    assert Client(headers={"Authorization": "Basic x"}).get("/crawls/list.csv").status_code == 302


def test_every_route_of_a_file_is_known_as_one():
    routes = [pattern for pattern in _routes(get_resolver()) if "<kind>csv" in pattern]

    assert len(routes) >= 10
    assert all(pattern.endswith(")$") and r"\.(?P<kind>" in pattern for pattern in routes)


def _routes(resolver):
    for pattern in resolver.url_patterns:
        if hasattr(pattern, "url_patterns"):
            yield from _routes(pattern)
        else:
            yield str(pattern.pattern)
