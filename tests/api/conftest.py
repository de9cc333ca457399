"""A pool, loopback, one account for each role, and clients that send JSON as each of them."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from crawlsite.administration.accounts import make_roles
from crawlsite.tokens import make_token

# fixtures
from tests.crawling.conftest import (
    crawl_once,  # noqa: F401
    crawl_to_the_end,  # noqa: F401
    identified,  # noqa: F401
    loopback,  # noqa: F401
    order,  # noqa: F401
    pool,  # noqa: F401
    queue,  # noqa: F401
    shared,  # noqa: F401
    work_off,  # noqa: F401
    worker,  # noqa: F401
)

SEED = "http://127.0.0.1:8900/"


class Program:
    """A client that sends and reads JSON; its answers are (status, body)."""

    def __init__(self, token: str = "", client: Client | None = None) -> None:
        self.client = client or Client()
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def __call__(self, method: str, path: str, body: object = None, **headers: str):
        answer = self.client.generic(
            method,
            f"/api/v1/{path}",
            "" if body is None else json.dumps(body),
            content_type="application/json",
            headers={**self.headers, **headers},
        )
        return answer.status_code, json.loads(answer.content) if answer.content else None

    def get(self, path: str):
        """The answer of a GET, which must succeed."""
        status, body = self("GET", path)
        assert status == 200, body
        return body


@pytest.fixture
def people(pool):  # noqa: F811
    """Users by role; `nobody` has no role."""
    make_roles()
    users = {
        name: User.objects.create_user(name)
        for name in ("viewer", "operator", "administrator", "nobody")
    }
    for name, user in users.items():
        user.groups.set(Group.objects.filter(name=name))
    return users


@pytest.fixture
def programs(people):
    """A program for each user, logged in by a token, and one without."""
    return {
        "anonymous": Program(),
        **{name: Program(make_token(user, "tests")) for name, user in people.items()},
    }


@pytest.fixture
def operator(programs, loopback):  # noqa: F811
    return programs["operator"]


@pytest.fixture
def administrator(programs):
    return programs["administrator"]
