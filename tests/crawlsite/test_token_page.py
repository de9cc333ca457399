"""Tokens on a page: shown once, good until they expire or are revoked, and nobody's but their
owner's.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from crawlsite.models import ApiToken
from tests.crawling.pages import browser, soup

PAGE = "/account/tokens/"


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
def test_nobody_sees_or_revokes_the_tokens_of_others():
    browser("viewer").post(PAGE, {"name": "nightly", "days": ""})
    other = browser("administrator")

    assert "You have none." in other.get(PAGE).content.decode()
    assert other.post(reverse("revoke-token", args=[ApiToken.objects.get().pk])).status_code == 404


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
