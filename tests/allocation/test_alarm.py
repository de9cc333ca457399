"""Unsafe limits that were put through are flagged on every page, until the state is safe again."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from django.contrib.auth.models import Group, User
from django.urls import reverse

from allocation.services import Override, set_capacity
from crawlsite.roles import make_roles

pytestmark = pytest.mark.django_db


@pytest.fixture
def pool(make_pool, make_process):
    pool = make_pool(12)
    for label, most, now in (("P1", 4, 2), ("P0", 10, 5), ("P2", 9, 2)):
        make_process(pool, label, (most,), (now,))
    return pool


@pytest.fixture
def flagged(pool):
    set_capacity(pool=pool.pk, capacity={"a": 11}, override=Override("ada", "A drive broke."))
    return pool


@pytest.fixture
def log_in(client):
    make_roles()

    def log_in(role: str):
        user = User.objects.create_user(role, is_staff=True)
        user.groups.set(Group.objects.filter(name=role))
        client.force_login(user)
        return client

    return log_in


def alarm(client, address: str):
    return BeautifulSoup(client.get(address).content, "html.parser").find(attrs={"data-alarm": True})


PAGES = [
    "/crawls/",
    "/crawls/new/",
    "/bank/{pool}/",
    "/nowhere/",
    "/admin/",
    "/admin/allocation/pool/",
    "/admin/allocation/pool/{pool}/capacity/",
]


@pytest.mark.parametrize("address", PAGES)
def test_every_page_shows_it_with_who_why_and_what_would_clear_it(log_in, flagged, address):
    box = alarm(log_in("administrator"), address.format(pool=flagged.pk))

    assert box.find("a")["href"] == flagged.get_absolute_url()
    assert " ".join(box.get_text().split()) == (
        "Not safe: in the bank pool unsafe limits are in force; P0 and P2 could wait for each other for ever. "
        "Put through by ada: A drive broke. "
        "It is safe again with a raised by 1 to 12, or with the claim of P0 lowered to 9 a, or once enough is given back."
    )


@pytest.mark.parametrize("address", PAGES)
def test_no_page_shows_it_once_the_state_is_safe_again(log_in, flagged, address):
    set_capacity(pool=flagged.pk, capacity={"a": 12})

    assert alarm(log_in("administrator"), address.format(pool=flagged.pk)) is None


def test_it_is_for_those_who_may_see_pools(log_in, flagged, client):
    assert alarm(client, reverse("login")) is None
    assert alarm(log_in("viewer"), "/crawls/") is not None
    assert alarm(log_in("nobody"), "/nowhere/") is None


def test_a_refresh_does_not_ask_for_it(log_in, pool, django_assert_num_queries):
    client = log_in("viewer")
    with django_assert_num_queries(13) as page:
        client.get(pool.get_absolute_url())

    with django_assert_num_queries(len(page) - 1):
        client.get(pool.get_absolute_url(), headers={"HX-Request": "true"})
