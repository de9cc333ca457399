"""A page that is open asks for its changing part, and caches keep the part from the page."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

LIVE = ["home", "health", "allocation:pools", "dnscache:overview", "experiments:experiments"]


@pytest.mark.parametrize("name", LIVE)
def test_a_script_gets_the_part_that_changes_and_a_browser_the_page(client, db, name):
    client.force_login(User.objects.create_superuser("boss"))

    page = client.get(reverse(name))
    part = client.get(reverse(name), headers={"HX-Request": "true"})

    assert (page.status_code, part.status_code) == (200, 200)
    assert b"<html" in page.content
    assert b"<html" not in part.content
    assert all("HX-Request" in answer["Vary"] for answer in (page, part))
