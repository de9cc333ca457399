"""Unsafe limits that were put through are flagged on every page, until the state is safe again."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.urls import reverse

from allocation.models import Pool
from allocation.services import Override, set_capacity
from crawlsite.administration.accounts import make_roles
from tests.crawling.page_tree import tree_of

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
    return tree_of(client.get(address).content).find(attrs={"data-alarm": True})


PAGES = [
    "/crawls/",
    "/crawls/new/",
    "/resources/{pool}/",
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
        "Not safe: in the pool pool unsafe limits are in force; P0 and P2 could wait for each "
        "other forever. "
        "Put through by ada: A drive broke. "
        "It is safe again with a raised by 1 to 12, or with the claim of P0 lowered to 9 a, or "
        "once enough is released."
    )


@pytest.mark.parametrize("address", PAGES)
def test_no_page_shows_it_once_the_state_is_safe_again(log_in, flagged, address):
    set_capacity(pool=flagged.pk, capacity={"a": 12})

    assert alarm(log_in("administrator"), address.format(pool=flagged.pk)) is None


def test_it_is_for_those_who_may_see_pools(log_in, flagged, client):
    assert alarm(client, reverse("login")) is None
    assert alarm(log_in("viewer"), "/crawls/") is not None
    assert alarm(log_in("nobody"), "/nowhere/") is None


@pytest.fixture
def lose_a_unit(pool):
    """Return a function that does; the unit is back before lost units are looked for."""

    def lose():
        pool.refresh_from_db()
        Pool.objects.filter(pk=pool.pk).update(available=[units - 1 for units in pool.available])

    yield lose
    Pool.objects.filter(pk=pool.pk).update(available=pool.available)


def test_a_refresh_brings_an_alarm_that_began_meanwhile(log_in, pool, lose_a_unit):
    client, page = log_in("viewer"), pool.get_absolute_url()
    refresh = {"HX-Request": "true", "HX-Target": "live"}
    before = client.get(page, headers=refresh)
    assert (
        client.get(page, headers={**refresh, "If-None-Match": before.headers["ETag"]}).status_code
        == 304
    )
    lose_a_unit()

    after = client.get(page, headers={**refresh, "If-None-Match": before.headers["ETag"]})
    assert tree_of(after.content).select_one("#alarms [data-alarm] a")["href"] == page


def test_units_that_are_missing_are_told_with_what_to_do(log_in, lose_a_unit):
    lose_a_unit()

    box = alarm(log_in("viewer"), "/crawls/")
    assert " ".join(box.get_text().split()).startswith(
        "Units are missing in the pool pool. Units of a are missing in pool pool: capacity 12,"
    )
    assert "manage.py audit_allocation" in box.get_text()


def test_a_page_asks_for_alarms_by_one_query_and_what_is_no_page_by_none(
    log_in, pool, django_assert_num_queries
):
    client, page = log_in("viewer"), pool.get_absolute_url()
    with django_assert_num_queries(11):
        client.get(page)

    with django_assert_num_queries(10):
        client.get(page, headers={"HX-Request": "true"})
