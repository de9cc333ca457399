"""A share link or feed that a user has opened stops with the account, and with the right to open
it; an administrator who locks the account sees it, and may hand it over.
"""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from crawling.models import CrawlJob, ShareLink, Team
from crawling.runs.crawls.creation import create_crawl
from crawling.runs.crawls.share_links import create_share_link
from crawling.runs.crawls.teams import hand_over, set_team_rule
from crawling.uses.watches.feed import feed_token
from crawling.uses.watches.models import Watch
from crawling.uses.watches.watching import WatchFields, create_watch, renew_feed
from crawlsite.administration.accounts import role_of, set_role
from tests.crawling.conftest import loopback, pool  # noqa: F401
from tests.crawling.pages import browser


@pytest.fixture
def press(loopback, pool) -> dict[str, User]:  # noqa: F811
    """Ada and mate of the team Press, ben of none: operators; and an administrator's browser."""
    browser("operator")  # makes the roles
    users = {
        name: User.objects.create_user(name, password="x" * 20) for name in ("ada", "mate", "ben")
    }
    for user in users.values():
        user.groups.add(Group.objects.get(name="operator"))
    Team.objects.create(name="Press").members.set([users["ada"], users["mate"]])
    return users


@pytest.fixture
def crawl(press) -> CrawlJob:
    order = {"name": "Books", "seeds": ["http://127.0.0.1:8900/"], "team": "Press"}
    return create_crawl(order, by=press["ada"])


@pytest.fixture
def opened(crawl, press):
    """Return a function that says whether mate's share link and feed open something."""
    _, token = create_share_link(crawl, days=90, by=press["mate"])
    watch = create_watch(crawl, WatchFields("host", "a.test"), by=press["mate"])
    places = [
        reverse("shared-report", args=[token]),
        reverse("watch-feed", args=[feed_token(watch)]),
    ]
    return lambda: [Client().get(place).status_code == 200 for place in places]


@pytest.fixture
def administrator(press) -> Client:
    return browser("administrator")


@pytest.fixture
def lock(administrator):
    """Return a function that presses *Lock* for a user."""

    def press_lock(user: User, **sent: object):
        place = reverse("administration:user", args=[user.pk])
        return administrator.post(place, {"action": "deactivate"} | sent)

    return press_lock


def test_links_and_feeds_stop_while_the_account_of_their_maker_is_locked(press, opened):
    assert opened() == [True, True]

    User.objects.filter(username="mate").update(is_active=False)
    assert opened() == [False, False]

    User.objects.filter(username="mate").update(is_active=True)
    assert opened() == [True, True]


@pytest.mark.parametrize("how", ["team", "role", "handed over", "rule"])
def test_they_stop_when_their_maker_may_not_act_on_the_crawl_any_more(press, crawl, opened, how):
    administrator = User.objects.create_superuser("root")
    if how == "team":
        Team.objects.get().members.remove(press["mate"])
    elif how == "role":
        set_role(press["mate"], "viewer", by=administrator)
    elif how == "handed over":
        hand_over(crawl, "ada", "", by=administrator)
    else:
        set_team_rule(own_crawls_only=False, by=administrator)
        Team.objects.get().members.remove(press["mate"])
        assert opened() == [True, True]
        set_team_rule(own_crawls_only=True, by=administrator)

    assert opened() == [False, False]


def test_those_of_the_command_line_stay_open(crawl):
    _, token = create_share_link(crawl, days=7, by=None)
    watch = create_watch(crawl, WatchFields("host", "a.test"), by=None)

    places = (reverse("shared-report", args=[token]), f"/watches/{feed_token(watch)}/feed.atom")
    assert [Client().get(place).status_code for place in places] == [200, 200]


def test_who_locks_an_account_sees_what_stops_and_nothing_is_done_yet(press, opened, lock):
    page = lock(press["mate"]).content.decode()

    assert "Share link of" in page
    assert "Feed of" in page
    assert opened() == [True, True]

    lock(press["mate"], confirmed="yes")
    assert opened() == [False, False]
    assert not User.objects.get(username="mate").is_active


def test_links_and_feeds_are_handed_over_with_the_account(press, opened, lock, administrator):
    lock(press["mate"], confirmed="yes", hand_to="ada")

    assert opened() == [True, True]
    assert not User.objects.get(username="mate").is_active
    assert {ShareLink.objects.get().created_by, Watch.objects.get().created_by} == {press["ada"]}
    log = administrator.get("/administration/activity/").content.decode()
    assert "handed a share link over" in log


def test_links_and_feeds_are_handed_over_with_a_deleted_account_or_stop(press, opened, lock):
    page = lock(press["mate"], action="delete", hand_to="nobody here")
    assert page.status_code == 422
    assert opened() == [True, True]

    lock(press["mate"], action="delete", hand_to="ada")
    assert opened() == [True, True]
    assert not User.objects.get(username="mate").teams.exists()


@pytest.mark.parametrize("name", ["ben", "nobody-known", "mate"])
def test_they_are_handed_to_none_who_may_not_act_on_the_crawl(press, opened, lock, name):
    User.objects.filter(username="mate").update(is_active=name != "mate")

    answer = lock(press["mate"], confirmed="yes", hand_to=name)

    assert answer.status_code == 422
    assert ShareLink.objects.get().created_by == press["mate"]
    assert User.objects.get(username="mate").is_active == (name != "mate")


def test_they_are_not_handed_to_the_account_that_is_locked(press, opened, lock):
    answer = lock(press["mate"], confirmed="yes", hand_to="mate")

    assert answer.status_code == 422
    assert (User.objects.get(username="mate").is_active, opened()) == (True, [True, True])


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"role": "viewer", "is_active": False, "hand_to": "ben"}, "hand_to"),
        ({"role": "viewer", "hand_to": "ada"}, "hand_to"),
    ],
)
def test_a_program_changes_all_of_an_account_or_nothing(press, opened, changes, field):
    place = f"/api/v1/users/{press['mate'].pk}"
    answer = browser("administrator").patch(place, changes, content_type="application/json")

    assert (answer.status_code, set(answer.json()["errors"])) == (422, {field})
    assert role_of(User.objects.get(username="mate")) == "operator"


def test_a_program_lists_what_stops_and_hands_it_over(press, crawl, opened):
    client, place = browser("administrator"), f"/api/v1/users/{press['mate'].pk}"

    told = client.get(f"{place}/shared-items").json()["items"]
    refused, done = (
        client.patch(place, {"is_active": False, "hand_to": name}, content_type="application/json")
        for name in ("ben", "ada")
    )

    assert [(item["crawl"], item["kind"]) for item in told] == [
        (crawl.pk, "share link"),
        (crawl.pk, "feed"),
    ]
    assert (refused.status_code, "Books" in refused.json()["errors"]["hand_to"]) == (422, True)
    assert (done.status_code, done.json()["is_active"]) == (200, False)
    assert opened() == [True, True]


def test_an_account_that_opened_nothing_is_locked_at_once(press, lock):
    assert lock(press["ben"]).status_code == 302
    assert not User.objects.get(username="ben").is_active


def test_a_stopped_feed_is_told_and_a_new_address_takes_it_over(press, crawl, opened):
    ada, places = Client(), [f"/crawls/{crawl.pk}/{name}/" for name in ("watches", "share")]
    ada.force_login(press["ada"])
    before = [ada.get(place).content.decode() for place in places]
    User.objects.filter(username="mate").update(is_active=False)

    pages = [ada.get(place).content.decode() for place in places]
    [row] = ada.get(f"/api/v1/crawls/{crawl.pk}/watches").json()["items"]
    [link] = ada.get(f"/api/v1/crawls/{crawl.pk}/share-links").json()["items"]
    assert [["stopped" in page for page in shown] for shown in (before, pages)] == [
        [False, False],
        [True, True],
    ]
    assert (row["feed"], link["is_open"]) == ("", False)

    watch = renew_feed(crawl, row["id"], by=press["ada"])
    assert Client().get(f"/watches/{feed_token(watch)}/feed.atom").status_code == 200
    assert watch.created_by == press["ada"]
