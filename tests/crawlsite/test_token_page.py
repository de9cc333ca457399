"""Tokens on pages: shown once, good until they expire or are revoked by their owners or by
administrators.
"""

from __future__ import annotations

import shlex
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from crawlsite.administration import user_views
from crawlsite.models import ApiToken
from crawlsite.tokens import make_token
from tests.crawling.pages import browser, soup

PAGE = "/account/tokens/"
ALL = "/administration/tokens/"


def opens(token: str) -> bool:
    return (
        Client().get("/api/v1/crawls", headers={"Authorization": f"Bearer {token}"}).status_code
        == 200
    )


@pytest.mark.django_db
def test_a_token_made_on_the_page_is_shown_once_and_opens_until_it_expires_or_is_revoked():
    viewer = browser("viewer")
    answer = viewer.post(PAGE, {"name": "nightly", "days": "30"})
    token = soup(answer).select_one(".message code").get_text()
    assert opens(token)
    assert "no-store" in answer["Cache-Control"]
    assert token not in viewer.get(PAGE).content.decode()

    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert not opens(token)
    assert "expired" in soup(viewer.get(PAGE)).select_one("td .bad").get_text()

    ApiToken.objects.update(expires_at=None)
    assert opens(token)
    viewer.post(reverse("revoke-token", args=[ApiToken.objects.get().pk]))
    assert not opens(token)


@pytest.mark.django_db
def test_the_page_of_a_new_token_has_a_first_call_that_works():
    made = soup(browser("viewer").post(PAGE, {"name": "nightly"}))

    command = shlex.split(made.select_one("pre code").get_text())
    assert command[:2] == ["curl", "-H"]
    name, _, value = command[2].partition(": ")
    answer = Client().get(urlsplit(command[3]).path, headers={name: value})

    assert answer.status_code == 200
    index = answer.json()
    assert index["user"] == "viewer"
    assert index["lists"]["/api/v1/crawls"].startswith("List crawls")
    for address in (index["description"], "/api/v1/jobs"):
        assert Client().get(address, headers={name: value}).status_code == 200


@pytest.mark.django_db
def test_nobody_sees_or_revokes_the_tokens_of_others():
    browser("viewer").post(PAGE, {"name": "nightly", "days": ""})
    other = browser("operator")

    assert "You have no tokens." in other.get(PAGE).content.decode()
    assert other.post(reverse("revoke-token", args=[ApiToken.objects.get().pk])).status_code == 404


@pytest.mark.django_db
def test_administrators_see_every_owners_last_use_and_revoke():
    answer = browser("viewer").post(PAGE, {"name": "nightly", "days": ""})
    token = soup(answer).select_one(".message code").get_text()
    administrator = browser("administrator")

    [row] = soup(administrator.get(ALL)).select("tbody tr")
    assert [cell.get_text(strip=True) for cell in row.select("th, td")][:3] == [
        "viewer",
        "nightly",
        "never",
    ]
    assert opens(token)
    assert soup(administrator.get(ALL)).select_one("tbody td:nth-of-type(2) time")

    left = administrator.post(row.button["formaction"], {row.button["name"]: "1"})
    assert left["Location"] == ALL
    assert not opens(token)


@pytest.mark.django_db
def test_the_tokens_of_all_users_are_shown_a_page_at_a_time(monkeypatch):
    monkeypatch.setattr(user_views, "TOKENS", 1)
    robot = User.objects.create_user("robot")
    make_token(robot, "first")
    make_token(robot, "second")

    page = soup(browser("administrator").get(f"{ALL}?page=2"))

    assert [row.get_text() for row in page.select("tbody td:first-of-type")] == ["second"]
    assert page.select_one("tbody button"), "it can be revoked there"
    assert "2 to 2 of 2 tokens" in page.select_one(".pager").get_text()


@pytest.mark.django_db
def test_only_superusers_revoke_the_tokens_of_superusers():
    administrator = browser("administrator")
    User.objects.filter(username="administrator").update(is_superuser=False)
    root = User.objects.create_superuser("root")
    make_token(root, "backup")

    [row] = soup(administrator.get(ALL)).select("tbody tr")
    assert row.button is None
    revoke = reverse("revoke-token", args=[ApiToken.objects.get().pk])
    assert administrator.post(revoke, {"all": "1"}).status_code == 404
    assert ApiToken.objects.count() == 1


@pytest.mark.django_db
def test_programs_of_administrators_list_and_revoke_all_tokens_and_those_of_others_do_not():
    make_token(User.objects.create_user("robot"), "nightly")
    listed = "/api/v1/tokens?everyone=true"
    assert browser("operator").get(listed).status_code == 403
    administrator = browser("administrator")

    [item] = administrator.get(listed).json()["items"]
    assert (item["user"], item["name"], item["last_used_at"]) == ("robot", "nightly", None)
    assert administrator.get("/api/v1/tokens").json()["items"] == []
    assert administrator.delete(f"/api/v1/tokens/{item['id']}").status_code == 204
    assert not ApiToken.objects.exists()


@pytest.mark.django_db
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_made():
    viewer = browser("viewer")
    viewer.post(PAGE, {"name": "twin"})

    for fields, sentence in [
        ({"name": " "}, "Give it a name"),
        ({"name": "x", "days": "0"}, "Days are"),
        ({"name": "twin"}, "already"),
    ]:
        assert sentence in soup(viewer.post(PAGE, fields)).select_one(".field .error").get_text()
    assert ApiToken.objects.count() == 1
